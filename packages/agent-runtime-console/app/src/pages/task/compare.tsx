import type { TaskDetails, TaskStatus } from '@ku0/agent-runtime-client'
import { Link } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { api } from '../../server/session.ts'
import { Asked } from '../../ui/asked.tsx'
import { amount, duration } from '../../ui/format.ts'
import { Json } from '../../ui/json.tsx'
import { State } from '../../ui/state.tsx'
import { Table } from '../../ui/table.tsx'
import { isSame, pairsOf, type StepPair } from './difference.ts'

/** A fork or retry beside the task that it began with: the first difference, what both cost, and how they were judged. */
export function Compare({ base, own }: { readonly base: string; readonly own: TaskDetails }) {
  const { type, taskId } = own.task
  const query = useQuery({
    queryKey: ['task', base],
    queryFn: ({ signal }) => api().get(base, { signal }),
  })
  const scores = useQuery({
    queryKey: ['scores', type],
    queryFn: () => api().evaluations.history(type, { limit: 1_000 }),
  })
  const scoreOf = (id: string) => {
    const found = scores.data?.find((judged) => judged['taskId'] === id)
    return typeof found?.['composite'] === 'number' ? amount(found['composite']) : undefined
  }
  return (
    <Asked query={query} what="the task that it began with">
      {(other) => (
        <>
          <p>
            It began with the steps of{' '}
            <Link to="/tasks/$taskId" params={{ taskId: base }}>
              <code>{base}</code>
            </Link>
            . {firstDifference(other, own)}
          </p>
          <Table
            caption="Both tasks"
            rows={rowsOf(other.task, own.task, [scoreOf(base), scoreOf(taskId)])}
            keyOf={([name]) => name}
            columns={[
              { name: '', show: ([name]) => name },
              { name: 'Before', show: ([, before]) => before },
              { name: 'This task', show: ([, , now]) => now },
            ]}
          />
          <ul className="plain">
            {pairsOf(other.steps, own.steps).map((pair) => (
              <li key={pair.key}>
                <Pair pair={pair} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Asked>
  )
}

/** What the two do differently first, in a sentence. */
function firstDifference(base: TaskDetails, own: TaskDetails): string {
  const first = pairsOf(base.steps, own.steps).find((pair) => !pair.isSame)
  if (first !== undefined)
    return first.base === undefined
      ? `The first difference is the step ${first.key}, which only this task has recorded.`
      : first.own === undefined
        ? `The first difference is the step ${first.key}, which this task has not recorded.`
        : `The first difference is the result of the step ${first.key}.`
  if (base.task.state !== own.task.state) return 'Their steps are the same, and their ends differ.'
  return base.task.state === 'completed' &&
    own.task.state === 'completed' &&
    !isSame(base.task.output, own.task.output)
    ? 'Their steps are the same, and their results differ.'
    : 'Nothing differs so far.'
}

type Row = readonly [name: string, before: ReactNode, now: ReactNode]

function rowsOf(
  base: TaskStatus,
  own: TaskStatus,
  scores: readonly [string | undefined, string | undefined],
): readonly Row[] {
  const used = new Set([...Object.keys(base.used ?? {}), ...Object.keys(own.used ?? {})])
  return [
    ['State', <State key="base" state={base.state} />, <State key="own" state={own.state} />],
    ['Took', took(base), took(own)],
    ['Steps', base.steps, own.steps],
    ...[...used].map((field): Row => [`Used ${field}`, usedOf(base, field), usedOf(own, field)]),
    ...(scores.every((score) => score === undefined)
      ? []
      : [['Score', scores[0] ?? '–', scores[1] ?? '–'] as const]),
  ]
}

function took(task: TaskStatus): string {
  return 'finishedAt' in task && task.startedAt !== undefined
    ? duration(task.finishedAt - task.startedAt)
    : '–'
}

function usedOf({ used }: TaskStatus, field: string): string {
  const value = (used as Readonly<Record<string, number | undefined>> | undefined)?.[field]
  return value === undefined ? '–' : amount(value)
}

function Pair({ pair: { key, base, own, isSame: same } }: { readonly pair: StepPair }) {
  const word = same
    ? 'the same'
    : base === undefined
      ? 'only here'
      : own === undefined
        ? 'only before'
        : 'another result'
  return (
    <details>
      <summary>
        <code>{key}</code> <span className={same ? 'faint' : 'differs'}>{word}</span>
      </summary>
      {base === undefined ? null : <Json value={base.result} label={same ? `Result of ${key}` : 'Before'} />}
      {own === undefined || same ? null : <Json value={own.result} label="This task" />}
    </details>
  )
}
