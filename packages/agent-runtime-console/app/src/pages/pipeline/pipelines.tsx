import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../server/session.ts'
import { useLive } from '../../server/live.tsx'
import { Copy, curl } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { count, shortId } from '../../ui/format.ts'
import { Page } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { State } from '../../ui/state.tsx'
import { Table } from '../../ui/table.tsx'

export function PipelinesPage() {
  const { isPaused } = useLive()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['live', 'pipelines'],
    queryFn: ({ pageParam }) =>
      api().pipelines({ limit: 50, ...(pageParam === undefined ? {} : { cursor: pageParam }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor,
    refetchInterval: isPaused ? false : 10_000,
  })
  const all = data?.pages.flatMap(({ pipelines }) => pipelines)
  return (
    <Page title="Pipelines" beside={<Copy text={curl('/pipelines')} label="Copy as cURL" />}>
      {error === null ? null : <Problem error={error} what="the pipelines" onRetry={refetch} />}
      {all === undefined ? (
        error === null ? (
          <p className="faint pad">Loading the pipelines…</p>
        ) : null
      ) : all.length === 0 ? (
        <Empty title="No pipeline has begun">
          <p>
            A program defines one with <code>definePipeline</code> and submits it: its stages receive events
            of others while those run.
          </p>
        </Empty>
      ) : (
        <Table
          caption="Pipelines"
          rows={all}
          keyOf={({ taskId }) => taskId}
          columns={[
            {
              name: 'Pipeline',
              show: ({ taskId, type }) => (
                <Link to="/tasks/$taskId" params={{ taskId }} data-row>
                  <strong>{type}</strong>
                </Link>
              ),
            },
            { name: 'Id', show: ({ taskId }) => <code title={taskId}>{shortId(taskId)}</code> },
            { name: 'State', show: ({ state }) => <State state={state} /> },
            {
              name: 'Stages',
              show: ({ stages }) => `${stages.filter(({ ended }) => ended).length} of ${stages.length} ended`,
            },
            { name: 'Events', show: ({ seq }) => count(seq), isNumber: true },
            {
              name: 'Unread',
              show: ({ stages }) => count(unreadOf(stages.map(({ unread }) => unread))),
              isNumber: true,
            },
            {
              name: 'Room',
              show: ({ stages }) => {
                const full = [...new Set(stages.flatMap(({ heldBack }) => heldBack))]
                return full.length === 0 ? 'yes' : <span className="held">‖ none for {full.join(', ')}</span>
              },
            },
          ]}
        />
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

function unreadOf(stages: readonly Readonly<Record<string, number>>[]): number {
  return stages.flatMap((unread) => Object.values(unread)).reduce((all, number) => all + number, 0)
}
