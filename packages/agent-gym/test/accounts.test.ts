import { expect, test } from 'vitest'
import type { AccountEnd, PipelineEnd } from '../src/host/collect.ts'
import { measure } from '../src/measure/measures.ts'
import { parseScenario } from '../src/scenario/load.ts'
import { completedTask, goodRun, measured, planned, taskId } from './builders.ts'

const entry = (
  seq: number,
  kind: AccountEnd['entries'][number]['kind'],
  [amount, held, credits, reserved]: readonly [number, number, number, number],
  more: object = {},
) => ({ client: 'ada', at: 0, why: '', seq, kind, amount, held, credits, reserved, ...more })
const task = { taskId: taskId(1) }

/** 10 bought, a task estimated at 3 that has cost 2. */
const account: AccountEnd = {
  client: 'ada',
  credits: 8,
  reserved: 0,
  spent: 2,
  entries: [
    entry(1, 'purchase', [10, 0, 10, 0], { key: 'one' }),
    entry(2, 'reserve', [-3, 3, 7, 3], task),
    entry(3, 'settle', [0, -2, 7, 1], task),
    entry(4, 'refund', [1, -1, 8, 0], task),
  ],
}
const tasks = [completedTask(1, { client: 'ada', cost: 2 })]
const faults = (change: Partial<AccountEnd>, of = tasks) =>
  measure('accountFaults', measured(goodRun(1, { tasks: of, accounts: [{ ...account, ...change }] }))).cases

test('a ledger that balances has no fault', () => {
  expect(faults({})).toEqual([])
  expect(measure('credits', measured(goodRun(0, { accounts: [account] })), { client: 'ada' }).value).toBe(8)
})

test.each<[what: string, change: Partial<AccountEnd>, fault: string]>([
  ['other credits', { credits: 9 }, 'ada has 9 credits, and its entries sum to 8'],
  ['credits that stay reserved', { reserved: 1 }, '1 credits are still reserved'],
  ['another cost', { spent: 3 }, 'has spent 3, and its entries say 2'],
  [
    'a gap',
    { entries: account.entries.map((each) => ({ ...each, seq: each.seq + (each.seq > 3 ? 1 : 0) })) },
    'entry 5 stands at place 4',
  ],
  [
    'a sum that is off',
    { entries: account.entries.map((each) => (each.seq === 2 ? { ...each, credits: 6 } : each)) },
    '6 and 3 after entry 2, not 7 and 3',
  ],
  [
    'a purchase that was made twice',
    { entries: [...account.entries, entry(5, 'purchase', [10, 0, 18, 0], { key: 'one' })], credits: 18 },
    "'one' was bought twice",
  ],
  [
    'a task that was reserved for twice',
    {
      entries: [
        ...account.entries,
        entry(5, 'reserve', [-3, 3, 5, 3], task),
        entry(6, 'refund', [3, -3, 8, 0], task),
      ],
    },
    'task-1 was reserved for 2 times',
  ],
])('a ledger with %s has one', (_, change, fault) => {
  expect(faults(change)).toEqual([expect.stringContaining(fault)])
})

test('a task is settled at its cost, and one that never started not at all', () => {
  expect(faults({}, [completedTask(1, { client: 'ada', cost: 2.5 })])).toEqual([
    'ada: task-1 has cost 2.5, and 2 was settled',
  ])
  expect(faults({}, [...tasks, completedTask(2, { client: 'ada', startedAt: null, cost: 1 })])).toEqual([])
  expect(faults({}, [...tasks, completedTask(2, { client: 'ada', cost: 1 })])).toHaveLength(2)
  expect(faults({}, [...tasks, completedTask(2, { client: 'ada', estimate: 0, cost: 0 })])).toEqual([])
})

test('an agreement is with one client', () => {
  const text = {
    id: 'x',
    title: 'x',
    about: 'x',
    category: 'x',
    difficulty: 'easy',
    processes: [{ name: 'main' }],
    workload: [{ name: 'both', count: 2, client: ['a', 'b'], agreement: {}, work: { type: 'no-op' } }],
    arrivals: [{ how: 'bulk', groups: ['both'] }],
    expect: [{ measure: 'completed', equals: 2 }],
    figure: { measure: 'completed', label: 'completed' },
  }
  expect(() => parseScenario(JSON.stringify(text), 'x.json')).toThrow(
    'workload.0.agreement: an agreement is with one client',
  )
})

const stream: PipelineEnd = {
  taskId: taskId(1),
  published: { read: 2, hashed: 2 },
  stages: [
    { stage: 'read', taken: {} },
    { stage: 'hash', taken: { read: 2 } },
    { stage: 'sum', taken: { hashed: 2 } },
  ],
  events: [
    { seq: 1, type: 'read', place: 0 },
    { seq: 2, type: 'read', place: 1 },
    { seq: 3, type: 'hashed', place: 0 },
    { seq: 4, type: 'hashed', place: 1 },
  ],
}
const streamFaults = (change: Partial<PipelineEnd>) =>
  measure(
    'streamFaults',
    measured(
      goodRun(1, {
        workload: [planned(1, { type: 'stream', input: { files: ['a'], events: 2, batch: 1 } })],
        pipelines: [{ ...stream, ...change }],
      }),
    ),
  ).cases

test.each<[what: string, change: Partial<PipelineEnd>, faults: readonly string[]]>([
  ['each event once, in order', {}, []],
  [
    'a gap',
    { events: stream.events.map((event) => ({ ...event, seq: event.seq + (event.seq > 3 ? 1 : 0) })) },
    ['task-1: event 5 stands at place 4'],
  ],
  [
    'another order',
    { events: stream.events.map((event) => ({ ...event, place: event.seq === 1 ? 1 : event.place })) },
    ["task-1: 'read' 1 comes where 0 should"],
  ],
  [
    'an event that nobody received',
    { stages: stream.stages.map((it) => (it.stage === 'sum' ? { ...it, taken: { hashed: 1 } } : it)) },
    ["task-1: of 2 'hashed' 2, 2, 1 are in the log, published and received"],
  ],
  [
    'an event that is missing',
    { events: stream.events.slice(0, 3) },
    ["task-1: of 2 'hashed' 1, 2, 2 are in the log, published and received"],
  ],
])('the log of a pipeline has %s', (_, change, found) => {
  expect(streamFaults(change)).toEqual(found)
})
