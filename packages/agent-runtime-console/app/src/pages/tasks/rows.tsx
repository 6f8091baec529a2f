import type { TaskStatus } from '@ku0/agent-runtime-client'
import { Link } from '@tanstack/react-router'
import { createColumnHelper, rowSelectionFeature, tableFeatures, useTable } from '@tanstack/react-table'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { duration, shortId } from '../../ui/format.ts'
import { useNow, When } from '../../ui/now.tsx'
import { State } from '../../ui/state.tsx'

const features = tableFeatures({ rowSelectionFeature })
const helper = createColumnHelper<typeof features, TaskStatus>()
const columns = helper.columns([
  helper.accessor('state', { header: 'State', cell: ({ row }) => <StateOf task={row.original} /> }),
  helper.accessor('type', { header: 'Type', cell: ({ row }) => row.original.type }),
  helper.accessor('taskId', {
    header: 'Id',
    cell: ({ row }) => <code title={row.original.taskId}>{shortId(row.original.taskId)}</code>,
  }),
  helper.accessor('lane', { header: 'Lane', cell: ({ row }) => row.original.lane }),
  helper.accessor('attempt', { header: 'Attempt', cell: ({ row }) => row.original.attempt }),
  helper.display({ id: 'took', header: 'Took', cell: ({ row }) => <Took task={row.original} /> }),
  helper.accessor('submittedAt', {
    header: 'Submitted',
    cell: ({ row }) => <When at={row.original.submittedAt} />,
  }),
])

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
  const data = useMemo(() => [...tasks], [tasks])
  const rowSelection = useMemo(
    () => Object.fromEntries([...selected].map((id) => [id, true as const])),
    [selected],
  )
  const table = useTable({
    features,
    columns,
    data,
    getRowId: ({ taskId }) => taskId,
    state: { rowSelection },
    onRowSelectionChange: (next) => {
      const chosen = typeof next === 'function' ? next(rowSelection) : next
      onSelect(new Set(Object.keys(chosen).filter((id) => chosen[id] === true)))
    },
  })
  const { rows } = table.getRowModel()
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  useLayoutEffect(() => setTop(box.current?.offsetTop ?? 0), [])
  const height = useRowHeight()
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => height,
    overscan: 12,
    scrollMargin: top,
  })
  useEffect(() => virtual.measure(), [height, virtual])
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasMore && !isBusy && last >= rows.length - 30) onMore()
  }, [hasMore, isBusy, last, rows.length, onMore])
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
                checked={table.getIsAllRowsSelected()}
                onChange={table.getToggleAllRowsSelectedHandler()}
              />
              <span className="on-phone faint">Select all that are loaded</span>
            </label>
          </span>
          {table.getFlatHeaders().map((header) => (
            <span key={header.id} role="columnheader" className={`col-${header.column.id}`}>
              <table.FlexRender header={header} />
            </span>
          ))}
        </div>
      </div>
      <div ref={box} role="rowgroup" className="rows-body" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index]
          if (row === undefined) return null
          return (
            <div
              key={row.id}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={row.getIsSelected()}
              className="task-row"
              style={{ height: item.size, transform: `translateY(${item.start - top}px)` }}
            >
              <span role="cell">
                <input
                  type="checkbox"
                  aria-label={`Select ${row.id}`}
                  checked={row.getIsSelected()}
                  onChange={row.getToggleSelectedHandler()}
                />
              </span>
              {row.getAllCells().map((cell) => (
                <span key={cell.id} role="cell" className={`col-${cell.column.id}`}>
                  {cell.column.id === 'type' ? (
                    <Link to="/tasks/$taskId" params={{ taskId: row.id }} data-row className="row-link">
                      <table.FlexRender cell={cell} />
                    </Link>
                  ) : (
                    <table.FlexRender cell={cell} />
                  )}
                </span>
              ))}
            </div>
          )
        })}
      </div>
      {isBusy ? <p className="faint pad">Loading more…</p> : null}
    </div>
  )
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
