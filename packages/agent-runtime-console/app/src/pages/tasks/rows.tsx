import type { TaskStatus } from '@ku0/agent-runtime-client'
import { Link } from '@tanstack/react-router'
import { defaultRangeExtractor, useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { duration, shortId } from '../../ui/format.ts'
import { GRAPH_TYPE } from '../graph/graph-card.tsx'
import { useNow, When } from '../../ui/now.tsx'
import { State } from '../../ui/state.tsx'

interface Column {
  readonly id: string
  readonly header: string
  readonly cell: (task: TaskStatus) => ReactNode
}

const columns: readonly Column[] = [
  { id: 'state', header: 'State', cell: (task) => <StateOf task={task} /> },
  {
    id: 'type',
    header: 'Type',
    cell: ({ taskId, type }) => (
      <Link to="/tasks/$taskId" params={{ taskId }} data-row className="row-link">
        {type === GRAPH_TYPE ? 'graph' : type}
      </Link>
    ),
  },
  { id: 'taskId', header: 'Id', cell: ({ taskId }) => <code title={taskId}>{shortId(taskId)}</code> },
  { id: 'about', header: 'About', cell: (task) => <span title={about(task)}>{about(task)}</span> },
  { id: 'lane', header: 'Lane', cell: ({ lane }) => lane },
  { id: 'attempt', header: 'Attempt', cell: ({ attempt }) => attempt },
  { id: 'took', header: 'Took', cell: (task) => <Took task={task} /> },
  { id: 'submittedAt', header: 'Submitted', cell: ({ submittedAt }) => <When at={submittedAt} /> },
]

/** As many rows as are seen, of as many as there are. */
export function TaskRows({
  tasks,
  total,
  hasMore,
  isBusy,
  onMore,
  onTop,
  selected,
  onSelect,
}: {
  readonly tasks: readonly TaskStatus[]
  readonly total: number | undefined
  readonly hasMore: boolean
  readonly isBusy: boolean
  readonly onMore: () => void
  readonly onTop: (is: boolean) => void
  readonly selected: ReadonlySet<string>
  readonly onSelect: (ids: ReadonlySet<string>) => void
}) {
  const areAllSelected = tasks.length > 0 && tasks.every(({ taskId }) => selected.has(taskId))
  const selectAll = (is: boolean) => onSelect(new Set(is ? tasks.map(({ taskId }) => taskId) : []))
  const select = (id: string, is: boolean) =>
    onSelect(is ? new Set([...selected, id]) : new Set([...selected].filter((other) => other !== id)))
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  useLayoutEffect(() => setTop(box.current?.offsetTop ?? 0), [])
  const height = useRowHeight()
  const [focused, setFocused] = useState<string>()
  const virtual = useWindowVirtualizer({
    count: tasks.length,
    estimateSize: () => height,
    overscan: 12,
    scrollMargin: top,
    // The row with the focus stays, wherever new tasks push it: a key press would be lost with it.
    rangeExtractor(range) {
      const shown = defaultRangeExtractor(range)
      const at = focused === undefined ? -1 : tasks.findIndex(({ taskId }) => taskId === focused)
      return at === -1 || shown.includes(at) ? shown : [...shown, at].toSorted((a, b) => a - b)
    },
  })
  useEffect(() => virtual.measure(), [height, virtual])
  const items = virtual.getVirtualItems()
  // Without the focused row, which may be far away.
  const last = virtual.range?.endIndex ?? 0
  useEffect(() => {
    if (hasMore && !isBusy && last >= tasks.length - 42) onMore()
  }, [hasMore, isBusy, last, tasks.length, onMore])
  const isAtTop = (virtual.scrollOffset ?? 0) < top + height * 4
  useEffect(() => onTop(isAtTop), [isAtTop, onTop])

  return (
    <div className="rows card" role="table" aria-label="Tasks" aria-rowcount={total ?? -1}>
      <div role="rowgroup" className="rows-head">
        <div role="row" className="task-row">
          <span role="columnheader">
            <label>
              <input
                type="checkbox"
                aria-label="Select all rows that are loaded"
                checked={areAllSelected}
                onChange={(event) => selectAll(event.target.checked)}
              />
              <span className="on-phone faint">Select all that are loaded</span>
            </label>
          </span>
          {columns.map(({ id, header }) => (
            <span key={id} role="columnheader" className={`col-${id}`}>
              {header}
            </span>
          ))}
        </div>
      </div>
      <div
        ref={box}
        role="rowgroup"
        className="rows-body"
        style={{ height: virtual.getTotalSize() }}
        onBlur={() => setFocused(undefined)}
      >
        {items.map((item) => {
          const task = tasks[item.index]
          if (task === undefined) return null
          const isSelected = selected.has(task.taskId)
          return (
            <div
              key={task.taskId}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={isSelected}
              className="task-row"
              onFocus={() => setFocused(task.taskId)}
              style={{ height: item.size, transform: `translateY(${item.start - top}px)` }}
            >
              <span role="cell">
                <input
                  type="checkbox"
                  aria-label={`Select ${task.taskId}`}
                  checked={isSelected}
                  onChange={(event) => select(task.taskId, event.target.checked)}
                />
              </span>
              {columns.map(({ id, cell }) => (
                <span key={id} role="cell" className={`col-${id}`}>
                  {cell(task)}
                </span>
              ))}
            </div>
          )
        })}
      </div>
      {isBusy ? (
        <p className="faint pad">{tasks.length === 0 ? 'Looking through the tasks…' : 'Loading more…'}</p>
      ) : null}
    </div>
  )
}

/** What tells a task from others of its type, where there is room for it. */
function about(task: TaskStatus): string {
  if (task.state === 'failed') return task.error.message
  if (task.state === 'rejected') return task.message
  const labels = Object.entries(task.labels).map(([name, value]) => `${name}=${value}`)
  return [...(task.client === undefined ? [] : [task.client]), ...labels].join(', ')
}

/** Two lines on a phone, one elsewhere. */
function useRowHeight(): number {
  const [isNarrow, setNarrow] = useState(narrow.matches)
  useEffect(() => {
    const look = () => setNarrow(narrow.matches)
    narrow.addEventListener('change', look)
    return () => narrow.removeEventListener('change', look)
  }, [])
  return isNarrow ? 62 : 38
}

const narrow = matchMedia('(max-width: 760px)')

function StateOf({ task }: { readonly task: TaskStatus }) {
  if (task.state === 'failed')
    return <State state="failed" note={task.kind === 'error' ? undefined : task.kind} />
  if (task.state === 'waiting') return <State state="waiting" note={task.waitingFor} />
  return <State state={task.state} />
}

function Took({ task }: { readonly task: TaskStatus }) {
  const now = useNow(5_000)
  if ('finishedAt' in task)
    return task.startedAt === undefined ? '–' : duration(task.finishedAt - task.startedAt)
  if ('startedAt' in task) return duration(now - task.startedAt)
  return '–'
}
