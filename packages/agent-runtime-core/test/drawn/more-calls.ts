import { parseJson } from '../../src/codec/parse-json.ts'
import { decideConfiguration, inForce, settingDifferences, settingsAmong } from '../../src/config/in-force.ts'
import { httpFactsIn, restoreHttpFacts } from '../../src/error/http.ts'
import { orderOfHistory } from '../../src/history/hash.ts'
import {
  callOf,
  decideAtDecision,
  decideDivergence,
  goesBeyond,
  isInternal,
} from '../../src/history/replay.ts'
import * as circuit from '../../src/route/circuit.ts'
import { decideCatchUp } from '../../src/schedule/catch-up.ts'
import * as dominant from '../../src/share/dominant.ts'
import * as fairness from '../../src/share/fairness.ts'
import { decideShedding, decideSpawn, sharedRest, swarmPressure } from '../../src/swarm/shedding.ts'
import { testDigest } from '../../src/testing/index.ts'
import { differencesAmong, typeDifferences } from '../../src/worker/type-settings.ts'
import type { Call } from './call.ts'
import { type Draw, either, fields, listOf, of } from './draws.ts'

const configuration = fields({ id: [1, 2, 3], settings: ['x', 'y', 'z'], processes: [0, 0, 1, 2] })
const settings = fields({
  leaseTtlMs: [undefined, 1_000, 2_000],
  shares: [undefined, {}, { tierPolicy: 'strict' }, { tierPolicy: 'weighted', ledger: true }],
  later: [undefined, 1],
})

const bag = either(
  of(undefined, null, [['retry-after', '1']]),
  fields({
    'Retry-After': [undefined, '1', ['1', '2'], 3],
    'x-request-id': [undefined, 'r', 'x'.repeat(120)],
    authorization: ['secret'],
    'x-ratelimit-limit': [undefined, '5'],
    'x-ratelimit-limit1': ['5'],
  }),
  of(
    new Map<unknown, unknown>([
      ['cf-ray', 'a'],
      ['retry-after-ms', '5'],
      ['cookie', 'c'],
    ]),
  ),
)
const status = of(undefined, 99, 100, 429, 599, 600, 200.5, '500')
const httpError: Draw = fields({
  status,
  statusCode: status,
  response: either(of(undefined, null), fields({ status, statusCode: status, headers: bag })),
  $metadata: either(of(undefined), fields({ httpStatusCode: status })),
  headers: bag,
  responseHeaders: bag,
  $response: either(of(undefined), fields({ headers: bag })),
})

const callKey = of(
  'a',
  'b',
  'c',
  '$ku0/limit/a',
  '$ku0/retry/1/a',
  '$ku0/patched/p',
  '$ku0/escalation/1',
  '$ku0/hand-over/1',
  '$ku0/child/$ku0/hand-over/1',
  '$ku0/child/c',
)
const recorded = listOf(
  fields({ key: callKey, as: ['step'], position: [0, 1, 2, 3], seq: [0, 3, 5, 8, Number.POSITIVE_INFINITY] }),
  5,
)
const pass = fields({
  call: either(
    of(undefined),
    fields({ key: ['a', 'd'], position: [1, 2], isOpen: [true, false], branches: [true, false] }),
  ),
  recorded,
  certainBelow: [0, 2, 9],
  together: [undefined, { from: 0, below: 2 }, { from: 1, below: 3 }],
})
const withSets = (it: object, used: readonly string[], branchesAt: readonly number[]) =>
  ({ ...it, used: new Set(used), branchesAt: new Set(branchesAt) }) as never
const used = of([], ['a'], ['b', 'c'], ['a', 'b', 'c'])
const branchesAt = of([], [1], [2, 3])

const event = fields({
  seq: [1, 2, 3],
  type: ['task.started', 'task.waiting', 'step.completed', 'step.completed', 'wait.ended'],
  data: fields({
    key: [undefined, 'a', 'b', 1],
    position: [undefined, 0, 1, 2],
    at: [1],
    durationMs: [2],
    result: [1],
  }),
})

const route = fields({
  state: circuit.circuitStates,
  scar: [0, 0.0005, 1, 5],
  scarAt: [0, 1_000],
  openedAt: [null, 0, 900],
  probeAt: [null, 500],
  unhealthy: [true, false],
})
const now = of(0, 1_000, 1_900, 60_000)
const circuitSettings = fields({ circuitScarLimit: [1, 3], circuitOpenMs: [0, 1_000] })

const agents = listOf(fields({ laneRank: [0, 1, 2], order: [1, 2, 3], pressure: [0, 0.5, 1] }), 3)
const amounts = fields({
  compute: [undefined, 1_000_000],
  'model:big': [undefined, 0, 5],
  'tool:t': [undefined, 2],
})
const credits = of(0, 500_000, 1_000_000_000, 2_000_000_000)

const workers = listOf(
  fields({
    workerId: ['w', 'x', 'y'],
    settings: [
      undefined,
      {},
      { a: { input: 'h', version: '1' } },
      { a: { version: '2' }, b: { input: 'i' } },
      { b: { input: 'j', retry: '3' } },
    ],
  }),
  4,
)

/** More of them: settings, errors of clients of HTTP, replay, routes, swarms, shares, task types. */
export const moreCalls: Readonly<Record<string, Call>> = {
  parseJson: {
    call: parseJson,
    given: [of('1', '{"a":1}', '[', '', '"\\ud800"', '{"__proto__":1}', '-0', '1e999')],
  },
  inForce: { call: inForce, given: [listOf(configuration)] },
  decideConfiguration: { call: decideConfiguration, given: [listOf(configuration), of('x', 'y')] },
  settingDifferences: { call: settingDifferences, given: [settings, settings] },
  settingsAmong: {
    call: settingsAmong,
    given: [
      listOf(
        fields({
          settings,
          inForce: [true, false],
          since: [1],
          processes: [[], [{ processId: 'p', host: 'h', pid: 1 }]],
        }),
      ),
    ],
  },
  httpFactsIn: { call: httpFactsIn, given: [httpError] },
  restoreHttpFacts: {
    call: (error: object, facts) => {
      const made = Object.assign(new Error('no'), structuredClone(error))
      restoreHttpFacts(made, facts)
      return Object.entries(made)
    },
    given: [
      of({}, { response: null }, { response: { a: 1 } }, { status: 1 }),
      fields({
        status: [429],
        headers: [undefined, { 'retry-after': '1' }],
        places: [
          undefined,
          { status: 'response.status' },
          { status: 'statusCode', headers: 'response.headers' },
        ],
      }),
    ],
  },
  decideDivergence: {
    call: (it: object, keys, at) => decideDivergence(withSets(it, keys, at)),
    given: [pass, used, branchesAt],
  },
  decideAtDecision: {
    call: (call, it: object, keys) => decideAtDecision(call, withSets(it, keys, [])),
    given: [fields({ key: ['a', 'b'], position: [1, 2] }), pass, used],
  },
  goesBeyond: {
    call: (at, it: object, keys, branches) => goesBeyond(at, withSets(it, keys, branches)),
    given: [of(0, 1, 2), pass, used, branchesAt],
  },
  callOf: { call: callOf, given: [callKey] },
  isInternal: { call: isInternal, given: [callKey] },
  orderOfHistory: { call: (events) => orderOfHistory(events, testDigest), given: [listOf(event, 6)] },
  decideCatchUp: {
    call: decideCatchUp,
    given: [
      fields({
        catchUp: ['all', 'one', 'skip'],
        due: [[], [900], [100, 500, 900]],
        count: [0, 3, 5],
        now: [1_000],
        graceMs: [0, 100, 500],
        maxCatchUp: [1, 2, 9],
      }),
    ],
  },
  decideCircuit: { call: circuit.decideCircuit, given: [route, now, circuitSettings] },
  circuitStateAt: { call: circuit.circuitStateAt, given: [route, now, circuitSettings] },
  scarred: { call: circuit.scarred, given: [route, of(0.5, 2), now, circuitSettings] },
  breached: { call: circuit.breached, given: [route, now] },
  probed: { call: circuit.probed, given: [route, of('success', 'failure', 'none'), now] },
  isForgotten: { call: circuit.isForgotten, given: [route, now] },
  swarmPressure: { call: swarmPressure, given: [agents] },
  decideSpawn: { call: decideSpawn, given: [agents, fields({ maxAgents: [1, 2, 9], threshold: [0, 0.5] })] },
  decideShedding: { call: decideShedding, given: [agents, of(0, 0.5)] },
  sharedRest: {
    call: sharedRest,
    given: [
      listOf(
        fields({
          computeUs: [0, 5],
          memoryBytes: [0, 7],
          promisedCpuUs: [null, 6],
          promisedMemoryBytes: [null, 3],
        }),
      ),
      fields({ totalCpuTimeUs: [undefined, 20], totalMemoryBytes: [undefined, 30] }),
      of(0, 4),
    ],
  },
  amountsOf: {
    call: dominant.amountsOf,
    given: [of([], ['model:big', 'tool:t'], ['client:a']), of({ tasks: 1, tokens: 5, cost: 9 }), amounts],
  },
  addAmounts: { call: dominant.addAmounts, given: [amounts, amounts, of(1, -1, undefined)] },
  dominantShare: { call: dominant.dominantShare, given: [amounts, amounts, of(undefined, 2)] },
  entitlement: {
    call: dominant.entitlement,
    given: [fields({ credits, tier: ['contracted', 'marketplace'] })],
  },
  shareIncrement: { call: fairness.shareIncrement, given: [of(0, 1, 1_000_000, 1e15), credits, of(1, 4)] },
  settledIncrement: {
    call: fairness.settledIncrement,
    given: [fields({ charged: [1, 999, 1_000, 5_000, 1e14], estimate: [10], cost: [0, 5, 20], now: [7] })],
  },
  decideStart: { call: fairness.decideStart, given: [of(1, 5), of(undefined, 3), of('zero', 'wfq')] },
  decideSettlement: {
    call: fairness.decideSettlement,
    given: [fields({ time: [5, 9], floor: [3, 8], charged: [4], settled: [1, 4, 6] })],
  },
  agedRank: { call: fairness.agedRank, given: [of(0, 2), of(-5, 0, 999, 1_000, 2_500), of(1_000)] },
  typeDifferences: {
    call: (here: Readonly<Record<string, object>>, others) =>
      typeDifferences(new Map(Object.entries(here)) as never, others),
    given: [of({}, { a: { input: 'h', version: '3' } }, { b: { retry: '1' } }), workers],
  },
  differencesAmong: { call: differencesAmong, given: [workers] },
}
