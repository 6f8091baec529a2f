import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useLive, useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { useShownError } from '../../ui/asked.tsx'
import { curl, listCode } from '../../ui/commands.ts'
import { Copy, CopyJson } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { many } from '../../ui/format.ts'
import { Page } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { BulkBar } from './bulk.tsx'
import { type TaskFilter, listFilterOf, listPathOf, problemsOf } from './filter.ts'
import { Filters } from './filters.tsx'
import { TaskRows } from './rows.tsx'

const PAGE_SIZE = 100
/** Pages in a row with nothing on them, before somebody is asked whether to look further. The server looks at a thousand tasks for each. */
const PATIENCE = 20

export function TasksPage() {
  const filter = useSearch({ from: '/tasks' })
  const navigate = useNavigate()
  const { isPaused, isStreaming } = useLive()
  const [isAtTop, setAtTop] = useState(true)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const key = JSON.stringify(filter)
  const problems = problemsOf(filter)
  const isClear = problems.length === 0
  const tasks = useInfiniteQuery({
    queryKey: ['tasks', key],
    queryFn: ({ pageParam, signal }) =>
      api().list(
        // Nobody waits for a hundred large inputs of which none is shown.
        {
          ...listFilterOf(filter),
          values: false,
          limit: PAGE_SIZE,
          ...(pageParam === '' ? {} : { cursor: pageParam }),
        },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: ({ cursor }) => cursor,
    enabled: isClear,
    placeholderData: (before) => before,
  })
  const error = useShownError(tasks, key)
  const all = useMemo(() => tasks.data?.pages.flatMap((page) => page.tasks) ?? [], [tasks.data])
  // One page follows what happens. Whoever reads further down would lose the place.
  const follows = isClear && !isPaused && isAtTop && (tasks.data?.pages.length ?? 0) <= 1
  useTick(follows, isStreaming ? 1_500 : 2_000, () => {
    // An answer that takes longer than a turn still comes.
    void tasks.refetch({ cancelRefetch: false })
  })
  useEffect(() => setSelected(new Set()), [key])
  // To count what a text is in, the server would look at every task.
  const total = useLiveQuery(['count', key], () => api().count(listFilterOf(filter)), {
    isSlow: true,
    isEnabled: isClear && filter.text === undefined,
  })
  const pages = tasks.data?.pages ?? []
  const empty = pages.length - 1 - pages.findLastIndex((page) => page.tasks.length > 0)
  const [patience, setPatience] = useState(PATIENCE)
  useEffect(() => setPatience(PATIENCE), [key])
  const isTired = tasks.hasNextPage && empty >= patience
  // A filter that no index answers is looked through page by page. The count knows sooner that there is nothing.
  const hasNone = tasks.data !== undefined && all.length === 0 && (!tasks.hasNextPage || total.data === 0)
  const change = (next: TaskFilter) => void navigate({ to: '/tasks', search: next, replace: true })

  return (
    <Page
      title="Tasks"
      tab={['Tasks', ...Object.values(filter)].join(' ')}
      beside={
        <>
          <span className="faint" aria-live="polite">
            {total.data === undefined ? '' : many(total.data, 'task')}
            {!isPaused && !follows && all.length > 0
              ? ' · the list stands still while you are further down'
              : ''}
          </span>
          {isClear ? (
            <>
              <Copy text={() => curl(listPathOf(filter))} label="Copy as cURL" />
              <Copy text={() => listCode(listFilterOf(filter))} label="Copy as code" />
              <CopyJson value={tasks.data === undefined ? undefined : all} />
            </>
          ) : null}
        </>
      }
    >
      <Filters filter={filter} onChange={change} />
      {isClear ? (
        <>
          <BulkBar filter={filter} tasks={all} selected={selected} onClear={() => setSelected(new Set())} />
          {error === null ? null : <Problem error={error} what="the tasks" onRetry={tasks.refetch} />}
          {tasks.isPending && error === null ? <p className="faint pad">Loading the tasks…</p> : null}
          {hasNone ? <Nothing filter={filter} onClear={() => change({})} /> : null}
          {!hasNone && (all.length > 0 || tasks.hasNextPage) ? (
            <TaskRows
              tasks={all}
              total={total.data}
              hasMore={tasks.hasNextPage && !isTired}
              isBusy={tasks.isFetchingNextPage}
              onMore={() => void tasks.fetchNextPage()}
              onTop={setAtTop}
              selected={selected}
              onSelect={setSelected}
            />
          ) : null}
          {isTired ? (
            <p className="row pad">
              Nothing {all.length === 0 ? '' : 'more '}was found among the many tasks that were looked at.
              <button type="button" onClick={() => setPatience(empty + PATIENCE)}>
                Look further back
              </button>
            </p>
          ) : null}
        </>
      ) : (
        <Unclear problems={problems} onClear={() => change({})} />
      )}
    </Page>
  )
}

/** A filter that cannot be read is asked of nobody, and nothing can be done with what it selects. */
function Unclear({
  problems,
  onClear,
}: {
  readonly problems: readonly string[]
  readonly onClear: () => void
}) {
  return (
    <div className="problem" role="alert">
      {problems.map((it) => (
        <p key={it}>{it}</p>
      ))}
      <ClearFilter onClear={onClear} />
    </div>
  )
}

function Nothing({ filter, onClear }: { readonly filter: TaskFilter; readonly onClear: () => void }) {
  if (Object.keys(filter).length === 0)
    return (
      <Empty title="There are no tasks yet">
        <p>
          Submit one from a program, or with the command line: <code>agent-runtime submit TYPE INPUT</code>.
        </p>
      </Empty>
    )
  return (
    <Empty title="No task is like this">
      <ClearFilter onClear={onClear} />
    </Empty>
  )
}

function ClearFilter({ onClear }: { readonly onClear: () => void }) {
  return (
    <p className="row">
      <button type="button" onClick={onClear}>
        Clear the filter
      </button>
    </p>
  )
}

/** Calls something now and then. */
function useTick(isOn: boolean, everyMs: number, tick: () => void): void {
  const latest = useRef(tick)
  latest.current = tick
  useEffect(() => {
    if (!isOn) return undefined
    const timer = setInterval(() => document.visibilityState === 'visible' && latest.current(), everyMs)
    return () => clearInterval(timer)
  }, [isOn, everyMs])
}
