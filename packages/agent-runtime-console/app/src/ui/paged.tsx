import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useLive } from '../server/live.tsx'
import { Copy, curl } from './copy.tsx'
import { Page } from './page.tsx'
import { Problem } from './problem.tsx'
import { type Column, Table } from './table.tsx'

/** A page with a list that the server gives in pages, newest first. */
export function PagedList<Row extends { readonly taskId: string }>({
  title,
  path,
  ask,
  columns,
  empty,
}: {
  readonly title: string
  /** Where the API has the list. */
  readonly path: string
  readonly ask: (page: {
    readonly limit: number
    readonly cursor?: string
  }) => Promise<{ readonly rows: readonly Row[]; readonly cursor?: string | undefined }>
  readonly columns: readonly Column<Row>[]
  /** Stands where there is no row. */
  readonly empty: ReactNode
}) {
  const { isPaused } = useLive()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['live', path],
    queryFn: ({ pageParam }) => ask({ limit: 50, ...(pageParam === undefined ? {} : { cursor: pageParam }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor,
    refetchInterval: isPaused ? false : 10_000,
  })
  const all = data?.pages.flatMap(({ rows }) => rows)
  const what = `the ${title.toLowerCase()}`
  return (
    <Page title={title} beside={<Copy text={curl(path)} label="Copy as cURL" />}>
      {error === null ? null : <Problem error={error} what={what} onRetry={refetch} />}
      {all === undefined ? (
        error === null ? (
          <p className="faint pad">Loading {what}…</p>
        ) : null
      ) : all.length === 0 ? (
        empty
      ) : (
        <Table caption={title} rows={all} keyOf={({ taskId }) => taskId} columns={columns} />
      )}
      {hasNextPage ? (
        <p className="pad">
          <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show more
          </button>
        </p>
      ) : null}
    </Page>
  )
}
