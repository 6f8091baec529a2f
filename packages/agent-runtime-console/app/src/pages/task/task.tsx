import { ApiError, type RuntimeEvent, type TaskDetails } from '@ku0/agent-runtime-client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useLive } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { useShownError } from '../../ui/asked.tsx'
import { codeOf, curl } from '../../ui/commands.ts'
import { Copy, CopyJson } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { shortId } from '../../ui/format.ts'
import { useNow } from '../../ui/now.tsx'
import { Page } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { State } from '../../ui/state.tsx'
import { PipelineCard } from '../pipeline/pipeline-card.tsx'
import { SupervisorCard } from '../supervisor/supervisor-card.tsx'
import { GRAPH_TYPE, GraphCard } from '../graph/graph-card.tsx'
import { Actions } from './actions.tsx'
import { baseOf } from './base.ts'
import { Facts } from './facts.tsx'
import { isPipeline } from './is-pipeline.ts'
import { Panel } from './panel.tsx'
import { type Span, spansOf } from './spans.ts'
import { useTaskEvents } from './task-events.ts'
import { Waterfall } from './waterfall.tsx'

export function TaskPage() {
  const { taskId } = useParams({ from: '/tasks/$taskId' })
  return <AskedTask key={taskId} taskId={taskId} />
}

function AskedTask({ taskId }: { readonly taskId: string }) {
  const { isPaused } = useLive()
  const details = useQuery({
    queryKey: ['task', taskId],
    queryFn: ({ signal }) => api().get(taskId, { signal }),
    refetchInterval: ({ state }) => (isPaused || isOver(state.data) ? false : 5_000),
  })
  const error = useShownError(details, taskId)
  if (details.data === undefined) {
    const isUnknown = error instanceof ApiError && error.status === 404
    return (
      <Page title="Task">
        {isUnknown ? (
          <Empty title={`There is no task ${taskId}`}>
            <p>
              Its id is wrong, it was pruned, or it belongs to another client.{' '}
              <Link to="/tasks">See all tasks</Link>
            </p>
          </Empty>
        ) : error === null ? (
          <p className="faint pad">Loading the task…</p>
        ) : (
          <Problem error={error} what="the task" onRetry={details.refetch} />
        )}
      </Page>
    )
  }
  return <OneTask details={details.data} error={details.error} onRetry={details.refetch} />
}

/** A task whose children have such keys is a supervisor. */
function isSupervised({ type, data }: RuntimeEvent): boolean {
  return type === 'child.spawned' && String(data['key']).startsWith('$ku0/supervised/')
}

function isOver(details: TaskDetails | undefined): boolean {
  return details !== undefined && 'finishedAt' in details.task
}

function OneTask({
  details,
  error,
  onRetry,
}: {
  readonly details: TaskDetails
  readonly error: unknown
  readonly onRetry: () => unknown
}) {
  const { task, leases } = details
  const { taskId, type } = task
  const search = useSearch({ from: '/tasks/$taskId' })
  const navigate = useNavigate()
  const { isPaused } = useLive()
  const events = useTaskEvents(taskId)
  const name = type === GRAPH_TYPE ? 'graph' : type
  const over = isOver(details)
  const now = useNow(over ? 60_000 : 500)
  const end = 'finishedAt' in task ? task.finishedAt : now
  const spans = useMemo(() => spansOf(events.items, leases), [events.items, leases])
  const selected = spans.find(({ id }) => id === search.at)
  const go = (show: string, at?: string) =>
    void navigate({
      to: '/tasks/$taskId',
      params: { taskId },
      search: { show, ...(at === undefined ? {} : { at }) },
      replace: true,
      resetScroll: false,
    })
  return (
    <Page
      title={name}
      tab={`${name} ${shortId(taskId)}: ${task.state}`}
      beside={
        <>
          <State state={task.state} note={task.state === 'waiting' ? task.waitingFor : undefined} />
          <Actions details={details} />
        </>
      }
    >
      <p className="task-id">
        <code>{taskId}</code>
        <Copy text={taskId} label="Copy id" />
        <Copy text={curl(`/tasks/${encodeURIComponent(taskId)}`)} label="Copy as cURL" />
        <Copy text={() => codeOf(taskId)} label="Copy as code" />
        <CopyJson value={details} />
      </p>
      {error === null ? null : <Problem error={error} what="the task" onRetry={onRetry} />}
      <Facts details={details} base={baseOf(events.items)} />
      {isPipeline(details) ? <PipelineCard taskId={taskId} /> : null}
      {type === GRAPH_TYPE ? <GraphCard details={details} /> : null}
      {events.items.some(isSupervised) ? <SupervisorCard taskId={taskId} type={type} /> : null}
      <div className="panels">
        <section className="card" aria-label="Waterfall">
          <h2 className="pad">
            What happened{' '}
            {over || isPaused ? null : <span className="faint">· {events.isOver ? '' : 'follows live'}</span>}
          </h2>
          {events.error === undefined ? null : (
            <Problem error={events.error} what="the events" onRetry={events.again} />
          )}
          {spans.length === 0 && events.error === undefined ? (
            <p className="faint pad">{events.isOver ? 'No event is stored.' : 'Reading the history…'}</p>
          ) : (
            <Waterfall
              spans={spans}
              end={end}
              isLive={!over}
              selected={selected?.id}
              onSelect={(span: Span) => go('selected', span.id)}
            />
          )}
        </section>
        <Panel details={details} events={events} selected={selected} show={search.show} onShow={go} />
      </div>
    </Page>
  )
}
