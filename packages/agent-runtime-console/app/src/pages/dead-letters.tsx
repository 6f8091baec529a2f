import type { TaskStatus } from '@ku0/agent-runtime-client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useMayOperate } from '../server/info.ts'
import { useLive } from '../server/live.tsx'
import { api } from '../server/session.ts'
import { useAct } from '../ui/act.tsx'
import { useShownError } from '../ui/asked.tsx'
import { pathWith } from '../ui/commands.ts'
import { CopyAs } from '../ui/copy.tsx'
import { Empty } from '../ui/empty.tsx'
import { shortId } from '../ui/format.ts'
import { More } from '../ui/more.tsx'
import { When } from '../ui/now.tsx'
import { Page } from '../ui/page.tsx'
import { Problem } from '../ui/problem.tsx'
import { Table } from '../ui/table.tsx'
import { BulkDialog } from './tasks/bulk.tsx'

type Failed = Extract<TaskStatus, { state: 'failed' }>

/** A record, so that the compiler misses a kind that is new. */
const kinds = Object.keys({
  error: true,
  timeout: true,
  hard_limit: true,
  poisoned: true,
  schema_mismatch: true,
  invalid_output: true,
  limit_exceeded: true,
  not_approved: true,
  budget_exceeded: true,
  lease_lost: true,
  crashed: true,
  escalated: true,
  gateway_unreachable: true,
} satisfies Record<Failed['kind'], true>)

/** What failed permanently, and why. */
export function DeadLettersPage() {
  const { kind, type } = useSearch({ from: '/dead-letters' })
  const navigate = useNavigate()
  const { isPaused } = useLive()
  const mayOperate = useMayOperate()
  const [isBulk, setBulk] = useState(false)
  const filter = { ...(kind === undefined ? {} : { kind }), ...(type === undefined ? {} : { type }) }
  // Inputs are not shown.
  const shown = { ...filter, values: false }
  const letters = useInfiniteQuery({
    queryKey: ['dead letters', kind, type],
    queryFn: ({ pageParam }) =>
      api().deadLetters({
        ...shown,
        limit: 50,
        ...(pageParam === '' ? {} : { cursor: pageParam }),
      }),
    initialPageParam: '',
    getNextPageParam: ({ cursor }) => cursor,
    refetchInterval: ({ state }) => (isPaused || (state.data?.pages.length ?? 0) > 1 ? false : 5_000),
  })
  const error = useShownError(letters, JSON.stringify(filter))
  const all = (letters.data?.pages.flatMap(({ tasks }) => tasks) ?? []).filter(
    (it): it is Failed => it.state === 'failed',
  )
  const change = (next: { kind?: string; type?: string }) =>
    void navigate({ to: '/dead-letters', search: next, replace: true })
  return (
    <Page
      title="Dead letters"
      beside={
        <CopyAs
          path={pathWith('/dead-letters', Object.entries(shown))}
          call={`deadLetters(${JSON.stringify(shown)})`}
          json={letters.data === undefined ? undefined : all}
        />
      }
    >
      <section className="filters" aria-label="Filter">
        <label className="field">
          <span>Kind of failure</span>
          <select
            value={kind ?? ''}
            onChange={({ target }) =>
              change({
                ...(target.value === '' ? {} : { kind: target.value }),
                ...(type === undefined ? {} : { type }),
              })
            }
          >
            <option value="">all</option>
            {kinds.map((it) => (
              <option key={it} value={it}>
                {it}
              </option>
            ))}
          </select>
        </label>
        {type === undefined ? null : (
          <button
            type="button"
            className="chip"
            aria-pressed
            onClick={() => change(kind === undefined ? {} : { kind })}
          >
            type {type} ✕
          </button>
        )}
        {all.length === 0 || !mayOperate ? null : (
          <button type="button" onClick={() => setBulk(true)}>
            Retry all of these…
          </button>
        )}
      </section>
      {error === null ? null : <Problem error={error} what="the dead letters" onRetry={letters.refetch} />}
      {letters.isPending && error === null ? <p className="faint pad">Loading the dead letters…</p> : null}
      {letters.data !== undefined && all.length === 0 && !letters.hasNextPage ? (
        <Empty
          title={
            kind === undefined && type === undefined
              ? 'No task has failed permanently'
              : 'No failed task is like this'
          }
        >
          <p>A task comes here when its retries are used up, or when it was lost to crashes too often.</p>
        </Empty>
      ) : null}
      {all.length === 0 ? null : (
        <Table
          caption="Dead letters"
          rows={all}
          keyOf={({ taskId }) => taskId}
          columns={[
            {
              name: 'Task',
              show: ({ taskId, type: of }) => (
                <Link to="/tasks/$taskId" params={{ taskId }} data-row>
                  <strong>{of}</strong> <code title={taskId}>{shortId(taskId)}</code>
                </Link>
              ),
            },
            { name: 'Kind', show: (task) => task.kind },
            { name: 'Error', show: (task) => <span className="message">{task.error.message}</span> },
            { name: 'Attempts', show: ({ attempt }) => attempt, isNumber: true, isExtra: true },
            { name: 'Failed', show: ({ finishedAt }) => <When at={finishedAt} /> },
            { name: 'Actions', show: (task) => <RetryOne task={task} /> },
          ]}
        />
      )}
      <More pages={letters} what="dead letters" />
      {isBulk ? (
        <BulkDialog
          action="retry"
          wish={{
            filter: { states: ['failed'], kind, types: type === undefined ? undefined : [type] },
          }}
          onClose={() => setBulk(false)}
        />
      ) : null}
    </Page>
  )
}

function RetryOne({ task }: { readonly task: Failed }) {
  const { isBusy, act } = useAct()
  const mayOperate = useMayOperate()
  const retry = async () => {
    // A second press finds the task of the first.
    const receipt = await api().retry(task)
    if (!receipt.accepted) throw new Error(receipt.message)
    return (
      <>
        Submitted again as{' '}
        <Link to="/tasks/$taskId" params={{ taskId: receipt.taskId }}>
          {receipt.taskId}
        </Link>
      </>
    )
  }
  if (!mayOperate) return '–'
  return (
    <button type="button" disabled={isBusy} onClick={() => void act(retry)}>
      Retry<span className="hidden"> {task.taskId}</span>
    </button>
  )
}
