import type { RuntimeEvent, TaskDetails } from '@ku0/agent-runtime-client'
import { Link } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../server/session.ts'
import { Asked } from '../../ui/asked.tsx'
import { Json } from '../../ui/json.tsx'
import { count, duration } from '../../ui/format.ts'
import { More } from '../../ui/more.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Checkpoints, checkpointsIn } from './checkpoints.tsx'
import { ChildBranch } from './child-branch.tsx'
import { baseOf } from './base.ts'
import { Compare } from './compare.tsx'
import { EventList } from './events.tsx'
import { Leases } from './leases.tsx'
import { Output } from './output.tsx'
import type { Span } from './spans.ts'
import type { Followed } from './task-events.ts'
import { useSteps } from './use-steps.ts'

/** The second panel: one thing of the task at a time. Which one stands in the address. */
export function Panel({
  details,
  events,
  selected,
  show,
  onShow,
}: {
  readonly details: TaskDetails
  readonly events: Followed<RuntimeEvent>
  readonly selected: Span | undefined
  readonly show: string | undefined
  readonly onShow: (show: string) => void
}) {
  const { task, steps, stepsCursor, children, childrenCursor, leases, hasOlderLeases } = details
  const hasError = task.state === 'failed'
  const base = baseOf(events.items)
  const checkpoints = checkpointsIn(events.items)
  const tabs = [
    ...(selected === undefined ? [] : [['selected', 'Selected'] as const]),
    ...(hasError ? [['error', 'Error'] as const] : []),
    ['result', 'Result'] as const,
    ['input', 'Input'] as const,
    ['output', 'Output'] as const,
    ['steps', `Steps ${tally(steps, stepsCursor !== undefined)}`] as const,
    ...(checkpoints.length === 0 ? [] : [['checkpoints', `Checkpoints ${checkpoints.length}`] as const]),
    ['leases', `Leases ${tally(leases, hasOlderLeases)}`] as const,
    ['events', 'Events'] as const,
    ...(base === undefined ? [] : [['compare', 'Compare'] as const]),
    ['children', `Children ${tally(children, childrenCursor !== undefined)}`] as const,
    ['explain', 'Explain'] as const,
  ]
  const first = hasError ? 'error' : task.state === 'completed' ? 'result' : 'input'
  const open = tabs.some(([id]) => id === show) ? show : first
  return (
    <section className="card panel" aria-label="Details">
      <div
        role="tablist"
        aria-label="Details"
        className="tabs"
        onKeyDown={({ key }) => {
          const by = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0
          if (by === 0) return
          const at = tabs.findIndex(([id]) => id === open)
          const next = tabs[(at + by + tabs.length) % tabs.length]
          if (next === undefined) return
          onShow(next[0])
          document.querySelector<HTMLElement>(`#tab-${next[0]}`)?.focus()
        }}
      >
        {tabs.map(([id, text]) => (
          <button
            key={id}
            id={`tab-${id}`}
            type="button"
            role="tab"
            aria-selected={open === id}
            aria-controls="panel"
            tabIndex={open === id ? 0 : -1}
            onClick={() => onShow(id)}
          >
            {text}
          </button>
        ))}
      </div>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${open}`} className="pad" tabIndex={0}>
        <Shown open={open ?? first} details={details} events={events} selected={selected} />
      </div>
    </section>
  )
}

function Shown({
  open,
  details,
  events,
  selected,
}: {
  readonly open: string
  readonly details: TaskDetails
  readonly events: Followed<RuntimeEvent>
  readonly selected: Span | undefined
}) {
  const { task, children, leases, hasOlderLeases } = details
  switch (open) {
    case 'selected': {
      const of = events.items.filter(({ seq }) => selected?.seqs.includes(seq) === true)
      return <EventList events={of} isShort />
    }
    case 'error':
      return task.state === 'failed' ? <Failure kind={task.kind} error={task.error} /> : null
    case 'input':
      return task.input === undefined ? (
        <p className="faint">The server keeps no input of this task.</p>
      ) : (
        <Json value={task.input} label="Input" />
      )
    case 'result':
      if (task.state === 'completed') return <Json value={task.output} label="Result" />
      if (task.state === 'canceled') return <p>It was canceled. {task.reason ?? 'No reason was given.'}</p>
      if (task.state === 'rejected')
        return (
          <p>
            It was refused ({task.reason}): {task.message}
          </p>
        )
      return (
        <p className="faint">
          {task.state === 'failed' ? 'It failed: see the error.' : 'It has not ended yet.'}
        </p>
      )
    case 'output':
      return <Output taskId={task.taskId} />
    case 'steps':
      return <Steps details={details} />
    case 'checkpoints':
      return <Checkpoints taskId={task.taskId} events={checkpointsIn(events.items)} />
    case 'leases':
      return <Leases leases={leases} hasOlder={hasOlderLeases} />
    case 'events':
      return <EventList events={events.items} />
    case 'compare': {
      const base = baseOf(events.items)
      return base === undefined ? null : <Compare base={base} own={details} />
    }
    case 'children':
      return <Children task={task.taskId} some={children} />
    default:
      return <Explained taskId={task.taskId} />
  }
}

/** How many come with the task, if any, and whether there are more. */
function tally({ length }: readonly unknown[], hasMore: boolean): string {
  return `${length === 0 ? '' : length}${hasMore ? '+' : ''}`
}

function Steps({ details }: { readonly details: TaskDetails }) {
  const pages = useSteps(details)
  const { data: steps = [], error, refetch } = pages
  if (steps.length === 0 && details.stepsCursor === undefined)
    return (
      <p className="faint">
        No step is recorded. A handler records one with <code>ctx.step</code>, and repeats none that it has.
      </p>
    )
  return (
    <>
      <ul className="plain">
        {steps.map(({ key, result, durationMs, seq }) => (
          <li key={seq}>
            <details>
              <summary>
                <code>{key}</code> <span className="faint">{duration(durationMs)}</span>
              </summary>
              <Json value={result} label={`Result of ${key}`} />
            </details>
          </li>
        ))}
      </ul>
      {error === null ? null : <Problem error={error} what="more steps" onRetry={refetch} />}
      <More pages={pages} what="steps">
        {count(steps.length)} of up to {count(details.task.steps)} are shown
      </More>
    </>
  )
}

function Failure({
  kind,
  error,
}: {
  readonly kind: string
  readonly error: { message: string; name: string }
}) {
  const { stack, ...rest } = error as Readonly<Record<string, unknown>>
  return (
    <>
      <p className="failure">
        <strong>{error.name}</strong>: {error.message}
      </p>
      <p className="faint">Kind of failure: {kind}</p>
      {typeof stack === 'string' ? <Json value={stack} label="Stack" /> : null}
      <Json value={rest} label="Error" />
    </>
  )
}

function Children({ task, some }: { readonly task: string; readonly some: TaskDetails['children'] }) {
  if (some.length === 0)
    return (
      <p className="faint">
        It has spawned no task. A handler starts one below its own with <code>ctx.spawn</code>.
      </p>
    )
  return (
    <>
      <ul className="plain branches tree" aria-label="Children">
        {some.map((child) => (
          <ChildBranch key={child.taskId} task={child} />
        ))}
      </ul>
      <p>
        <Link to="/tasks" search={{ parent: task }}>
          See all in the list
        </Link>
      </p>
    </>
  )
}

function Explained({ taskId }: { readonly taskId: string }) {
  const why = useQuery({ queryKey: ['task', taskId, 'explain'], queryFn: () => api().explain(taskId) })
  return (
    <Asked query={why} what="the explanation">
      {(explanation) => (
        <>
          <p>{explanation?.summary}</p>
          <Json value={explanation} label="Explanation" />
        </>
      )}
    </Asked>
  )
}
