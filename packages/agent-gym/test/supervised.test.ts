import { expect, test } from 'vitest'
import { measure } from '../src/measure/measures.ts'
import type { TaskFact } from '../src/measure/measurements.ts'
import { planTasks, taskTypeOf } from '../src/work/plan.ts'
import { parseScenario } from '../src/scenario/load.ts'
import {
  effect,
  goodRun,
  type Happening,
  history,
  measured,
  pass,
  planned,
  taskId,
  taskWith,
} from './builders.ts'

const terms = {
  strategy: 'one_for_one',
  maxRestarts: 2,
  periodMs: 100,
  agents: 2,
  crashes: 1,
  everyMs: 1,
} as const

const spawned = (n: number, id: string): Happening => [
  'child.spawned',
  0,
  { taskId: taskId(n), key: `$ku0/supervised/transient/${id}` },
]
const restarted = (child: string, at: number, count: number, stopped: string[] = []): Happening => [
  'supervisor.restarted',
  at,
  { child, count, stopped },
]
const back: Happening = ['task.requeued', 1, { restartedBy: taskId(1), reason: 'retry' }]
const agent = (n: number, ...events: readonly Happening[]) =>
  taskWith(n, history(...events), {
    n: null,
    group: 'agent',
    parent: taskId(1),
    state: 'completed',
    finishedAt: 500,
  })

/** A supervisor of two agents, each of which crashed once. */
function run({
  above = [restarted('a', 10, 1), restarted('b', 20, 2)],
  below = [agent(2, back), agent(3, back)],
  given = {},
  change = {},
}: {
  above?: readonly Happening[]
  below?: readonly TaskFact[]
  given?: Partial<Record<keyof typeof terms, unknown>>
  change?: Partial<TaskFact>
} = {}) {
  const supervisor = taskWith(1, history(spawned(2, 'a'), spawned(3, 'b'), ...above), {
    state: 'completed',
    group: 'pool',
    ...change,
  })
  const input = { ...terms, place: 0, of: 1, ...given }
  return goodRun(1, {
    workload: [planned(1, { type: 'supervise', input, stepKeys: [], childStepKeys: ['work:0', 'work:1'] })],
    tasks: [supervisor, ...below],
    ledger: [],
    results: [],
  })
}
const faults = (it: Parameters<typeof run>[0]) => measure('restartFaults', measured(run(it))).cases ?? []

test('restarts are those of the model, and are counted', () => {
  expect(faults({})).toEqual([])
  expect(measure('restarts', measured(run()), { group: 'pool' }).value).toBe(2)
  expect(measure('restarts', measured(run()), { group: 'agent' }).value).toBe(0)
})

test.each<[what: string, it: Parameters<typeof run>[0], fault: string]>([
  ['is counted wrong', { above: [restarted('a', 10, 1), restarted('b', 20, 1)] }, 'counts 1, not 2'],
  ['counts no more', { above: [restarted('a', 10, 1), restarted('b', 111, 2)] }, 'counts 2, not 1'],
  ['is one too many', { given: { maxRestarts: 1 } }, 'is number 2 of 1'],
  ['is missing', { above: [restarted('a', 10, 1)] }, 'b came back 1 times, and was restarted 0 times'],
  ['has no failure', { below: [agent(2, back), agent(3)] }, 'b came back 0 times, and was restarted 1 times'],
  ['stops others', { above: [restarted('a', 10, 1, ['b']), restarted('b', 20, 2)] }, 'stopped b, not '],
  ['leaves others', { given: { strategy: 'one_for_all' } }, 'stopped , not b'],
  ['loses an agent', { below: [agent(2, back)] }, '1 agents of 2'],
  [
    'leaves an agent open',
    { below: [agent(2, back), { ...agent(3, back), state: 'waiting' }] },
    'b is waiting, its supervisor completed',
  ],
  [
    'gives up early',
    {
      above: [restarted('a', 10, 1)],
      below: [agent(2, back), agent(3)],
      change: { state: 'failed', reason: 'escalated' },
    },
    'escalated after 1 of 2 restarts',
  ],
])('a restart that %s is a fault', (_, it, fault) => {
  expect(faults(it).join('\n')).toContain(fault)
})

test('a restart at the end of the period counts, and one of a child that is not there yet stops nobody', () => {
  expect(faults({ above: [restarted('a', 10, 1), restarted('b', 110, 2)] })).toEqual([])
  const early = run({ given: { strategy: 'one_for_all' }, below: [agent(2, back), agent(3)] })
  const [supervisor, ...agents] = early.tasks
  const events = history(spawned(2, 'a'), restarted('a', 10, 1), spawned(3, 'b'))
  const tasks = [{ ...supervisor, events } as TaskFact, ...agents]
  expect(measure('restartFaults', measured({ ...early, tasks })).cases).toEqual([])
})

test('crashes of agents are those of their own, not of a lost lease', () => {
  const passes = [
    pass(2, { how: 'threw' }),
    pass(3, { how: 'threw', abortedAt: 5 }),
    pass(3, { token: 2, how: 'returned' }),
  ]
  const it = measured({ ...run(), passes })
  expect(measure('agentCrashes', it).value).toBe(1)
  expect(measure('agentCrashes', it, { group: 'agent' }).value).toBe(0)
})

test('steps of children are witnessed: they are no strays, and none is missing, repeated or out of order', () => {
  const ledger = [2, 3].flatMap((n) => ['work:0', 'work:1'].map((key) => effect(n, key)))
  const value = (name: string, change: Parameters<typeof goodRun>[1] = {}) =>
    measure(name, measured({ ...run(), ledger, ...change })).value
  for (const name of ['missingEffects', 'strayEffects', 'reordered', 'duplicateEffects'])
    expect([name, value(name)]).toEqual([name, 0])
  expect(value('missingEffects', { ledger: ledger.slice(1) })).toBe(1)
  expect(value('reordered', { ledger: ledger.toReversed() })).toBe(2)
  expect(value('strayEffects', { ledger: [...ledger, effect(2, 'other')] })).toBe(1)
  expect(value('duplicateEffects', { ledger: [...ledger, effect(2, 'work:0')] })).toBe(1)
})

test('agents of several supervisors crash in turn', () => {
  const text = {
    id: 'x',
    title: 'x',
    about: 'x',
    category: 'x',
    difficulty: 'easy',
    processes: [{ name: 'main' }],
    workload: [{ name: 'pool', count: 2, work: { type: 'supervise', agents: 3, crashes: 2, everyMs: 5 } }],
    arrivals: [{ how: 'bulk', groups: ['pool'] }],
    expect: [{ measure: 'restarts', equals: 12 }],
    figure: { measure: 'restarts', label: 'restarts' },
  }
  const tasks = planTasks(parseScenario(JSON.stringify(text), 'x.json'), 1)
  expect(tasks.map(({ input }) => input)).toMatchObject([
    { place: 0, of: 2 },
    { place: 1, of: 2 },
  ])
  expect(tasks[0]?.childStepKeys).toEqual(['work:0', 'work:1', 'work:2'])
  expect(tasks.map(taskTypeOf)).toEqual(['supervise-pool', 'supervise-pool'])
})
