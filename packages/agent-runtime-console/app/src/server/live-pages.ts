import { useInfiniteQuery } from '@tanstack/react-query'
import { pollMs, useLive } from './live.tsx'

/** A part of a list, and where the next part begins. */
export interface Part<Row> {
  readonly rows: readonly Row[]
  readonly cursor?: string | undefined
}

/** What is known of a list that comes in parts, and how to get more of it. */
export interface LivePages<Row> {
  readonly data: readonly Row[] | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => unknown
}

/** A list that the server gives in parts. All parts that were asked for follow the server while pages are live. */
export function useLivePages<Row>(
  key: readonly unknown[],
  read: (cursor: string | undefined) => Promise<Part<Row>>,
): LivePages<Row> {
  const live = useLive()
  return useInfiniteQuery({
    queryKey: ['live', 'pages', ...key],
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor,
    select: ({ pages }) => pages.flatMap(({ rows }) => rows),
    refetchInterval: pollMs(live),
  })
}
