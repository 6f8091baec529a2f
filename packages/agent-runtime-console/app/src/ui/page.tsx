import { type ReactNode, useEffect } from 'react'

/** The frame of every page: one heading, what it has to say beside it, and the content. */
export function Page({
  title,
  beside,
  children,
}: {
  readonly title: string
  readonly beside?: ReactNode
  readonly children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · agent runtime`
  }, [title])
  return (
    <>
      <header className="page-head">
        <h1>{title}</h1>
        {beside === undefined ? null : <div className="row wrap">{beside}</div>}
      </header>
      {children}
    </>
  )
}
