import { type ReactNode, useEffect } from 'react'

/** The frame of every page: one heading, what it has to say beside it, and the content. */
export function Page({
  title,
  tab = title,
  beside,
  children,
}: {
  readonly title: string
  /** What tells it from other tabs of the browser, where the title does not. */
  readonly tab?: string
  readonly beside?: ReactNode
  readonly children: ReactNode
}) {
  useEffect(() => {
    document.title = `${tab} · agent runtime`
  }, [tab])
  return (
    <>
      <header className="page-head">
        <h1 id="title">{title}</h1>
        {beside === undefined ? null : <div className="row wrap">{beside}</div>}
      </header>
      {children}
    </>
  )
}
