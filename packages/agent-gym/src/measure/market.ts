import { isDeepStrictEqual } from 'node:util'
import { fitting, type JobInput } from '../work/traders.ts'
import type { Run, TaskFact } from './measurements.ts'

const stages = ['job', 'proposal', 'contract', 'decomposition', 'execution', 'evaluation']

interface Offer {
  readonly agent: string
  readonly price: number
  readonly score: number
}

/**
 * Where a marketplace did something else than a model of it: each agent that fits proposes once, the best proposal gets the contract and does
 * the work once, each stage is recorded once and in order, and each job is one evaluation of its agent.
 */
export function marketFaults(run: Run): readonly string[] {
  const agents = new Map(
    run.workload.flatMap(({ group, type, agents: count }) => (type === 'job' ? [[group, count ?? 0]] : [])),
  )
  const inputs = new Map(run.workload.map(({ n, input }) => [n, input as JobInput]))
  const children = Map.groupBy(run.tasks, ({ parent }) => parent ?? '')
  const due = new Map<string, number>()
  const faults = run.tasks.flatMap((task) => {
    const count = agents.get(task.group ?? '')
    const job = inputs.get(task.n ?? 0)
    if (count === undefined || job === undefined || task.state !== 'completed') return []
    const { agent } = contractOf(task)
    due.set(agent, (due.get(agent) ?? 0) + 1)
    return jobFaults(task, job, count, children.get(task.taskId) ?? [])
  })
  const judged = run.agents.flatMap(({ agentId, evaluations }) =>
    evaluations === (due.get(agentId) ?? 0)
      ? []
      : [`${agentId} has ${evaluations} evaluations, and has done ${due.get(agentId) ?? 0} jobs`],
  )
  return [...faults, ...judged]
}

function jobFaults(
  { taskId, events, output }: TaskFact,
  job: JobInput,
  count: number,
  children: readonly TaskFact[],
): readonly string[] {
  const faults: string[] = []
  const recorded = events.flatMap(({ type, data }) => {
    const [, stage] = /^\$ku0\/market\/(\w+)$/.exec(String(data['key'])) ?? []
    return type === 'step.completed' && stage !== undefined ? [{ stage, result: data['result'] }] : []
  })
  const order = recorded.map(({ stage }) => stage)
  if (order.join() !== stages.join()) faults.push(`${taskId}: its stages are ${order.join()}`)

  const offers = (recorded.find(({ stage }) => stage === 'proposal')?.result ?? []) as readonly Offer[]
  const names = offers.map(({ agent }) => agent)
  const fit = fitting(count, job).map(({ name }) => name)
  if (names.toSorted().join() !== fit.toSorted().join())
    faults.push(`${taskId}: ${names.length} agents made proposals, and ${fit.length} fit`)
  const best = offers.toSorted(
    (a, b) => b.score - a.score || a.price - b.price || (a.agent < b.agent ? -1 : 1),
  )
  if (!isDeepStrictEqual(offers, best)) faults.push(`${taskId}: its proposals are not in order`)
  const { agent, price } = (output as { contract: { agent: string; price: number } }).contract
  if (agent !== best[0]?.agent)
    faults.push(`${taskId}: ${agent} has the contract, ${best[0]?.agent} was the best`)
  if (price > job.maxPrice) faults.push(`${taskId}: the contract is for ${price} of ${job.maxPrice}`)
  const workers = children.filter(({ type }) => type.startsWith('trader-')).map(({ type }) => type)
  if (workers.join() !== agent) faults.push(`${taskId}: ${workers.join()} did the work of ${agent}`)
  return faults
}

function contractOf({ output }: TaskFact): { readonly agent: string } {
  return (output as { contract: { agent: string } }).contract
}
