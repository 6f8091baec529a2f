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
import { useAllSteps } from './use-steps.ts'

/** A fork or retry beside the task that it began with: the first difference, what both cost, and how they were judged. */
export function Compare({ base, own }: { readonly base: string; readonly own: TaskDetails }) {
  const { type, taskId } = own.task
  const query = useQuery({
    queryKey: ['task', base],
    queryFn: ({ signal }) => api().get(base, { signal }),
  })
  const scores = useQuery({
    queryKey: ['scores', type, base, taskId],
    queryFn: () => scoresOf(type, [base, taskId]),
  })
  const scoreOf = (id: string) =>
    scores.data?.get(id) ??
    (scores.error === null ? (scores.isPending ? '…' : 'not judged') : 'could not be read')
  return (
    <Asked query={query} what="the task that it began with">
      {(other) => <Compared other={other} own={own} scoreOf={scoreOf} />}
    </Asked>
  )
}

function Compared({
  other,
  own,
  scoreOf,
}: {
  readonly other: TaskDetails
  readonly own: TaskDetails
  readonly scoreOf: (taskId: string) => string
}) {
  const otherSteps = useAllSteps(other)
  const ownSteps = useAllSteps(own)
  const query = {
    data:
      otherSteps.data === undefined || ownSteps.data === undefined
        ? undefined
        : pairsOf(otherSteps.data, ownSteps.data),
    error: otherSteps.error ?? ownSteps.error,
    refetch: () => Promise.all([otherSteps.refetch(), ownSteps.refetch()]),
  }
  const base = other.task.taskId
  return (
    <Asked query={query} what="the steps of both tasks">
      {(pairs) => (
        <>
          <p>
            It began with the steps of{' '}
            <Link to="/tasks/$taskId" params={{ taskId: base }}>
              <code>{base}</code>
            </Link>
            . {firstDifference(other, own, pairs)}
          </p>
          <Table
            caption="Both tasks"
            rows={rowsOf(other.task, own.task, [scoreOf(base), scoreOf(own.task.taskId)])}
            keyOf={([name]) => name}
            columns={[
              { name: 'Compared', show: ([name]) => name },
              { name: 'Before', show: ([, before]) => before },
              { name: 'This task', show: ([, , now]) => now },
            ]}
          />
          <ul className="plain">
            {pairs.map((pair) => (
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

/** An agent is mostly called like its task type. Others are looked at where that one has judged neither task. */
const MOST_AGENTS = 20

/** The newest score of each of the tasks that was judged. */
async function scoresOf(type: string, tasks: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const look = async (agent: string) => {
    for (const judged of await api().evaluations.history(agent, { limit: 1_000 })) {
      const of = String(judged['taskId'])
      const score = judged['composite']
      if (typeof score !== 'number' || !tasks.includes(of) || found.has(of)) continue
      found.set(of, agent === type ? amount(score) : `${amount(score)}, as ${agent}`)
    }
  }
  await look(type)
  if (found.size === tasks.length) return found
  for (const { agentId } of await api().evaluations.agents({ limit: MOST_AGENTS })) {
    if (found.size === tasks.length) break
    if (agentId !== type) await look(agentId)
  }
  return found
}

/** What the two do differently first, in a sentence. */
function firstDifference(base: TaskDetails, own: TaskDetails, pairs: readonly StepPair[]): string {
  const first = pairs.find((pair) => !pair.isSame)
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

function rowsOf(base: TaskStatus, own: TaskStatus, scores: readonly [string, string]): readonly Row[] {
  const used = new Set(['cost', ...Object.keys(base.used ?? {}), ...Object.keys(own.used ?? {})])
  return [
    ['State', <State key="base" state={base.state} />, <State key="own" state={own.state} />],
    ['Took', took(base), took(own)],
    ['Steps', base.steps, own.steps],
    ...[...used].map((field): Row => [inWords(field), usedOf(base, field), usedOf(own, field)]),
    ['Score', ...scores],
  ]
}

function took(task: TaskStatus): string {
  return 'finishedAt' in task && task.startedAt !== undefined
    ? duration(task.finishedAt - task.startedAt)
    : '–'
}

function usedOf({ used }: TaskStatus, field: string): string {
  const value = (used as Readonly<Record<string, number | undefined>> | undefined)?.[field]
  return value === undefined ? 'nothing charged' : amount(value)
}

function inWords(field: string): string {
  return field.charAt(0).toUpperCase() + field.slice(1)
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
