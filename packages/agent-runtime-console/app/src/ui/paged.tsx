import type { ReactNode } from 'react'
import { type Part, useLivePages } from '../server/live-pages.ts'
import { Asked } from './asked.tsx'
import { CopyAs } from './copy.tsx'
import { More } from './more.tsx'
import { Page } from './page.tsx'
import { type Column, Table } from './table.tsx'

/** A page with a list that the server gives in pages, newest first. */
export function PagedList<Row extends { readonly taskId: string }>({
  title,
  path,
  call,
  ask,
  columns,
  empty,
}: {
  readonly title: string
  /** Where the API has the list. */
  readonly path: string
  /** What it is in a program: `supervisors.list()`. */
  readonly call: string
  readonly ask: (page: { readonly limit: number; readonly cursor?: string }) => Promise<Part<Row>>
  readonly columns: readonly Column<Row>[]
  /** Stands where there is no row. */
  readonly empty: ReactNode
}) {
  const pages = useLivePages([path], (cursor) =>
    ask({ limit: 50, ...(cursor === undefined ? {} : { cursor }) }),
  )
  return (
    <Page title={title} beside={<CopyAs path={path} call={call} json={pages.data} />}>
      <Asked query={pages} what={`the ${title.toLowerCase()}`}>
        {(all) =>
          all.length === 0 ? (
            empty
          ) : (
            <Table caption={title} rows={all} keyOf={({ taskId }) => taskId} columns={columns} />
          )
        }
      </Asked>
      <More pages={pages} what={title.toLowerCase()} />
    </Page>
  )
}
