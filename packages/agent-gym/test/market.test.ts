import { expect, test } from 'vitest'
import { measure } from '../src/measure/measures.ts'
import type { TaskFact } from '../src/measure/measurements.ts'
import { fitting, jobOf, traders } from '../src/work/traders.ts'
import { goodRun, type Happening, history, measured, planned, taskId, taskWith } from './builders.ts'

const count = 20
const job = jobOf(1, 'a file')
const offers = fitting(count, job)
  .map(({ name, cost }) => ({ agent: name, price: cost, score: 1 / cost }))
  .toSorted((a, b) => b.score - a.score || a.price - b.price || (a.agent < b.agent ? -1 : 1))
const best = offers[0]?.agent ?? ''
const stages = ['job', 'proposal', 'contract', 'decomposition', 'execution', 'evaluation']
const recorded = (stage: string, result: unknown = null): Happening => [
  'step.completed',
  0,
  { key: `$ku0/market/${stage}`, result },
]

function faults({
  named = stages,
  proposals = offers,
  contract = { agent: best, price: 1 },
  workers = [best],
  evaluations = 1,
}: {
  named?: readonly string[]
  proposals?: readonly object[]
  contract?: { readonly agent: string; readonly price: number }
  workers?: readonly string[]
  evaluations?: number
} = {}) {
  const events = history(...named.map((stage) => recorded(stage, stage === 'proposal' ? proposals : null)))
  const above = taskWith(1, events, { state: 'completed', group: 'jobs', output: { contract } })
  const below = workers.map((type, i): TaskFact =>
    taskWith(2 + i, [], { type, n: null, parent: taskId(1), state: 'completed' }),
  )
  const run = goodRun(1, {
    workload: [planned(1, { type: 'job', group: 'jobs', input: job, agents: count })],
    tasks: [above, ...below],
    agents: traders(count).map(({ name }) => ({
      agentId: name,
      evaluations: name === best ? evaluations : 0,
      reputation: 0.5,
      composites: [],
    })),
  })
  return measure('marketFaults', measured(run)).cases
}

test('each domain has agents for each price that jobs ask for', () => {
  for (let n = 0; n < 50; n += 1) expect(fitting(count, jobOf(n, 'x')).length).toBeGreaterThan(0)
})

test('a job that went as the model says has no fault', () => {
  expect(faults()).toEqual([])
})

test.each<[what: string, it: Parameters<typeof faults>[0], found: string]>([
  ['a stage that came twice', { named: [...stages, 'evaluation'] }, 'its stages are job'],
  ['an agent that made no proposal', { proposals: offers.slice(0, -1) }, 'agents made proposals'],
  ['proposals out of order', { proposals: offers.toReversed() }, 'its proposals are not in order'],
  ['a contract with another', { contract: { agent: 'trader-0', price: 1 } }, 'trader-0 has the contract'],
  ['a price that is too high', { contract: { agent: best, price: 11 } }, 'the contract is for 11 of'],
  ['work that was done twice', { workers: [best, best] }, `${best},${best} did the work of ${best}`],
  ['an evaluation that counted twice', { evaluations: 2 }, `${best} has 2 evaluations, and has done 1 jobs`],
])('%s is a fault', (_, it, found) => {
  expect((faults(it) ?? []).join('\n')).toContain(found)
})
