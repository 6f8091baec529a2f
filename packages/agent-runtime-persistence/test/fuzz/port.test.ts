import { profileConfigs } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { takeSnapshot, violationsIn } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment, VirtualClock } from '@ku0/agent-runtime-core/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fields,
  hostile,
  listOf,
  mostly,
  type Piece,
  values,
} from '../../../agent-runtime-core/test/fuzz/pieces.ts'
import { draws } from '../../../../tools/draws.ts'
import { wrongWith } from '../../../agent-runtime-core/test/fuzz/told.ts'
import { openStore } from '../../src/index.ts'
import { operations, queries } from '../../src/checked/port-schema.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

/** Other values by FUZZ_SEED, more of them by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
export const runs = Number(process.env['FUZZ_RUNS'] ?? draws(2, 15, 40))

const { config } = parseExecutionConfig({
  shares: {},
  maxSchedules: 3,
  quotaConfig: {
    models: { big: { maxInFlight: 1 } },
    defaults: { client: { perWindow: 5, onExceeded: 'defer' } },
  },
})

/** What of a live lease and of a task stands for when the call is made. */
const leaseOfNow = '$lease'
const taskOfNow = '$task'

const id = mostly(values(taskOfNow, taskOfNow, 'mine', 'nobody'))
const lease = mostly(values(leaseOfNow, leaseOfNow, leaseOfNow, 'nobody'))
const name = mostly(values('a', 'b', 'w', '*', 'work'))
const key = mostly(values('step', 'nap', 'child', 'b#2', ''))
const json = mostly(values('1', 'null', '{"a":[1]}', '{"$ku0":["Date",0]}', '{', ''))
const count = mostly(values(0, 1, 2, 5))
const time = mostly(values(0, 1, 1_000, 60_000))
const flag = mostly(values(true, false))
const use = fields({ tokens: count, money: count, cost: count }, 'tokens', 'money', 'cost')
const sum = fields({ tokens: count, money: count, cost: count, wallMs: time, steps: count })
const budget = fields({ limits: sum, soft: sum, cut: flag }, 'limits', 'soft')
const timing = mostly(
  values(
    { cron: '* * * * *', timeZone: 'UTC' },
    { everyMs: 1_000, anchorAt: 0 },
    { cron: '?', timeZone: '?' },
  ),
)
const terms = mostly(
  values(
    { profile: 'LIGHT', config: profileConfigs.LIGHT, grantedMs: 1_000, limits: {} },
    {
      profile: 'HEAVY',
      config: profileConfigs.HEAVY,
      grantedMs: 9_000,
      limits: { hard: { memoryBytes: 5 } },
    },
  ),
)
const scores = mostly(
  values({ quality: 0.5, adherence: 0.1, speed: 0.1, cost: 0.1, errors: 0.1, revisions: 0.1 }),
)
const submitted = {
  type: mostly(values('work')),
  lane: mostly(values('interactive', 'normal', 'batch')),
  input: json,
  taskId: fc.oneof({ weight: 9, arbitrary: values(undefined) }, { weight: 1, arbitrary: id }),
  idempotencyKey: name,
  client: name,
  model: mostly(values('big', 'small')),
  tools: listOf(name),
  labels: mostly(values({ a: 'b' }, {})),
  dueAt: time,
  delayMs: time,
  timeoutMs: time,
  tokens: count,
  cost: count,
  oversight: mostly(values('supervised', 'spot_check')),
  outOfCredits: mostly(values('run', 'park', 'reject')),
  profile: terms,
  swarm: name,
  agent: name,
  share: fields({ cpuTimeUs: count, memoryBytes: count }),
  budget,
  trace: mostly(values({ traceparent: '00-1' })),
  refused: mostly(values({ reason: 'invalid_payload', message: 'no' })),
}
const submission = fields(submitted, 'type', 'lane', 'input')
const { dueAt: _dueAt, delayMs: _delayMs, ...atOnce } = submitted
const run = fields(
  Object.fromEntries(
    (
      [
        'type',
        'lane',
        'input',
        'client',
        'model',
        'tools',
        'labels',
        'timeoutMs',
        'tokens',
        'cost',
        'budget',
      ] as const
    ).map((field) => [field, submitted[field]]),
  ),
  'type',
  'lane',
  'input',
)
const asks = { key, position: count, dueAt: time, delayMs: time }
const approval = mostly(
  values({
    artifact: '1',
    mode: 'supervised',
    asked: true,
    maxRetries: 1,
    onReject: 'rerun',
    onTimeout: 'reject',
  }),
)
const group = {
  state: mostly(values('completed', 'failed', 'canceled')),
  type: name,
  except: listOf(name),
}
const wait = fc.oneof(
  fields({ ...asks, kind: values('timer') }, 'key', 'position', 'kind'),
  fields({ ...asks, kind: values('signal', 'child'), name }, 'key', 'position', 'kind', 'name'),
  fields({ ...asks, kind: values('approval'), name, approval }, 'key', 'position', 'kind', 'approval'),
  hostile,
)
const error = mostly(values('{"message":"no","name":"Error"}', '1'))
const settlement = fc.oneof(
  fields({ as: values('completed'), output: json }, 'as', 'output'),
  fields(
    { as: values('failed'), kind: values('error', 'timeout', 'poisoned'), error, waits: listOf(key) },
    'as',
    'kind',
    'error',
  ),
  fields({ as: values('retry', 'rate_limited'), error, delayMs: time }, 'as', 'error', 'delayMs'),
)

/** By the name of a field: what it mostly is. */
const byName: Readonly<Record<string, fc.Arbitrary<Piece>>> = {
  kind: values('no such kind', 'constructor', '__proto__', 5),
  leaseId: lease,
  taskId: id,
  taskIds: listOf(id),
  states: mostly(listOf(mostly(values('queued', 'running', 'waiting')))),
  agentId: name,
  name,
  key,
  position: count,
  round: count,
  durationMs: time,
  result: json,
  charged: use,
  inputHash: name,
  branches: values('race', 'all'),
  branchKeys: listOf(key),
  supervising: flag,
  nested: flag,
  error,
  backOff: fields({ keys: listOf(values('model:big', 'x')), retryAfterMs: time }, 'keys', 'retryAfterMs'),
  retry: count,
  dropsChildren: listOf(key),
  policy: mostly(values('cancel', 'abandon')),
  submission,
  inLine: flag,
  data: json,
  chunks: listOf(json),
  progress: json,
  settlement,
  waits: listOf(wait),
  stay: flag,
  divergence: mostly(values({ kind: 'order_changed', key: 'a', position: 1, expected: 'b' })),
  answer: fc.oneof(values({ as: 'stop' }), fields({ as: values('continue'), raise: sum }, 'as', 'raise')),
  value: json,
  request: count,
  verdict: mostly(values('approved', 'rejected')),
  fromStep: key,
  edits: mostly(values({}, { step: '2' }, { nobody: '1' })),
  onlyOver: flag,
  change: fields({ taskId: id, input: json, lane: submitted.lane, labels: submitted.labels, budget }),
  reason: mostly(values('yielded', 'drained', 'because')),
  how: mostly(values('acknowledged', 'leaked', 'killed')),
  afterMs: time,
  definition: fields(
    { timing, run, catchUp: values('skip', 'one', 'all'), graceMs: time, overlap: values('allow', 'skip') },
    'timing',
    'run',
    'catchUp',
    'graceMs',
    'overlap',
  ),
  nextAt: fc.oneof(time, values(null)),
  timing,
  dueAt: time,
  runs: listOf(time),
  missed: count,
  credits: count,
  tier: mostly(values('contracted', 'marketplace')),
  domain: name,
  weights: scores,
  scores,
  missing: listOf(values('quality')),
  terms,
  sample: fields({ computeUs: count, memoryBytes: count, errorRate: values(0.5), saturation: values(0.5) }),
  heartbeat: flag,
  share: mostly(values(0, 0.5, 1)),
  cause: mostly(values({ as: 'silent' }, { as: 'overrun', overrunMs: 1, grantedMs: 1 })),
  route: name,
  baselineMs: time,
  latencyMs: time,
  workers: listOf(
    fields(
      {
        workerId: name,
        capacity: count,
        types: listOf(name),
        lanes: listOf(values('interactive', 'normal', 'batch')),
      },
      'workerId',
      'capacity',
      'types',
    ),
  ),
  workerIds: listOf(name),
  workerId: name,
  draining: flag,
  paused: flag,
  tasks: listOf(submission),
  filter: fields({
    states: listOf(values('queued')),
    types: listOf(name),
    parent: id,
    values: flag,
    limit: count,
    cursor: count,
  }),
  after: count,
  limit: count,
  children: flag,
  before: count,
}
/** Fields whose name means something else in one kind. */
const byKind: Readonly<Record<string, fc.Arbitrary<Piece>>> = {
  'openPipeline terms': mostly(
    values({ stages: [{ stage: 'a', publishes: ['x'], subscribes: [] }], maxUnread: 1 }, { stages: [] }),
  ),
  'openPipeline key': mostly(values('$ku0/pipeline')),
  'publish key': mostly(values('$ku0/publish/x/a/0')),
  'receive key': mostly(values('$ku0/receive/x/0')),
  'publish type': name,
  'publish events': listOf(json),
  'publish keyHashes': mostly(values([null], [5], [1_024], undefined)),
  'receive types': listOf(name),
  'receive max': count,
  'putAccessToken hash': mostly(values('ab'.repeat(32), 'AB'.repeat(32), 'ab')),
  'putAccessToken scopes': listOf(values('read', 'admin', 'write')),
  'putAccessToken client': name,
  'putAccessToken types': listOf(name),
  'putAccessToken expiresAt': time,
  'sample samples': listOf(
    fields(
      {
        stepMs: values(60_000, 3_600_000),
        at: values(0, 3_600_000),
        type: values('', 'a'),
        lane: values('batch', 'normal'),
        queued: count,
        running: count,
        started: count,
        completed: count,
        failed: count,
        waits: values([], [1, 0, 2]),
      },
      'stepMs',
      'at',
      'type',
      'lane',
      'running',
      'started',
      'completed',
      'failed',
      'waits',
    ),
  ),
  'newestKept groups': listOf(
    fields({ ...group, count, left: count, from: count }, 'state', 'count', 'left'),
  ),
  'newestKept before': count,
  'prunable groups': listOf(fields({ ...group, until: time, below: count }, 'state')),
  'prunable keysUntil': time,
  'prunable after': count,
  'runs these': listOf(count),
  'samples stepMs': mostly(values(60_000, 3_600_000)),
  'samples from': time,
  'samples to': time,
  'samples type': name,
  'samples lane': mostly(values('batch')),
  'lastSample stepMs': mostly(values(60_000)),
  'retryMany again': mostly(flag),
  'pauseQueue types': listOf(values('report', 'nothing')),
  'pauseQueue lanes': listOf(values('batch')),
  'recordStep drops': listOf(key),
  'failStep drops': listOf(key),
  'spawn drops': key,
  'spawn retryOf': id,
  'pipelineEvents ranges': listOf(values([1, 1], [2, 3], [9, 9])),
  'spawn after': listOf(values({ id: 'part', restart: 'transient', until: 'ready' })),
  'startChild id': mostly(values('part', 'late')),
  'startChild restart': mostly(values('permanent', 'transient', 'temporary')),
  'restartChild id': mostly(values('part', 'late')),
  'triggerSchedule idempotencyKey': name,
  'clients after': name,
  'purchaseCredits amount': count,
  'purchaseCredits note': name,
  'prune tasks': listOf(count),
  'prune newest': listOf(fields({ ...group, count, from: count }, 'state', 'count', 'from')),
  'prune dryRun': flag,
  'foldLedger client': name,
  'foldLedger seq': count,
  'foldLedger until': time,
  'foldLedger dryRun': flag,
  // The end of a line alone may set it.
  'registerWorkers remote': values(undefined),
  'schedules filter': fields({ name, after: name, dueBy: time, limit: count }),
  'startLease submission': fields(atOnce, 'type', 'lane', 'input', 'profile'),
  'putSwarm terms': fields(
    {
      route: name,
      terms,
      maxAgents: count,
      sharedBudget: values({}, { totalCpuTimeUs: 5 }),
      threshold: values(0.5),
    },
    'route',
    'terms',
    'maxAgents',
    'sharedBudget',
    'threshold',
  ),
}

/** What is wrong with the error of a call, where it throws one. */
function wrongOf(call: () => unknown): string | undefined {
  try {
    call()
    return undefined
  } catch (caught) {
    return wrongWith(caught)
  }
}

type Call = { readonly text: string; readonly kind: string; readonly make: () => unknown }

/** Calls of each kind that the port has, made of its fields; one that has a field nobody made a value for fails the test. */
function callsOf(schemas: ReadonlyMap<unknown, unknown>): fc.Arbitrary<Call> {
  const kinds = [...schemas].map(([kind, schema]) => {
    const shape = (
      schema as { shape: Readonly<Record<string, { safeParse(it: unknown): { success: boolean } }>> }
    ).shape
    const names = Object.keys(shape).filter((field) => field !== 'kind')
    const made = Object.fromEntries(
      names.map((field) => {
        const mostlyThat = byKind[`${String(kind)} ${field}`] ?? byName[field]
        if (mostlyThat === undefined) throw new Error(`nobody made values for ${String(kind)} ${field}`)
        return [field, mostlyThat]
      }),
    )
    const required = names.filter((field) => shape[field]?.safeParse(undefined).success === false)
    const arbitrary = fields(
      { ...made, kind: fc.oneof({ weight: 60, arbitrary: values(kind) }, { weight: 1, arbitrary: hostile }) },
      'kind',
      ...required,
    )
    return arbitrary.map(({ text, make }): Call => ({ text, kind: String(kind), make }))
  })
  // Without the bias to the first ones, which the first runs have: some kinds would never be drawn.
  return fc.noBias(fc.nat(kinds.length - 1)).chain((at) => kinds[at] ?? fc.oneof(...kinds))
}

/** The same with the lease and the task that there are just now. */
function put(it: unknown, now: { lease: string; task: string }): unknown {
  if (it === leaseOfNow) return now.lease
  if (it === taskOfNow) return now.task
  if (typeof it !== 'object' || it === null) return it
  try {
    if (Object.getPrototypeOf(it) !== Object.prototype) return it
    for (const [field, value] of Object.entries(it)) {
      const fresh = value === leaseOfNow ? now.lease : value === taskOfNow ? now.task : undefined
      if (fresh !== undefined) Object.assign(it, { [field]: fresh })
    }
  } catch {
    // A getter threw: it is what it is.
  }
  return it
}

/** How often each kind of call was answered and refused. */
export const told = new Map<string, { answered: number; refused: number }>()

describe('a store answers any call, or refuses it with an error of the house (docs/reliability.md 3.7)', () => {
  test.each([
    ['in its thread', true],
    ["in its caller's thread", false],
  ])('%s', async (_, thread) => {
    const writing = callsOf(operations).map((it) => ({ ...it, way: 'write' as const }))
    const reading = callsOf(queries).map((it) => ({ ...it, way: 'read' as const }))
    const call = fc
      .noBias(fc.nat(2))
      .chain((at): fc.Arbitrary<Call & { way: 'write' | 'read' }> => (at < 2 ? writing : reading))
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 60, maxLength: 60, size: 'max' }), async (calls) => {
        const clock = new VirtualClock()
        const environment = { ...createVirtualEnvironment(seed), clock, timers: clock, digest: nodeDigest }
        const store = await openStore('sqlite::memory:', thread ? { config } : { config, environment })
        const now = { lease: 'none', task: 'none' }
        let failed: Error | undefined
        store.listen({
          claimed: (claims) => {
            now.lease = claims.at(-1)?.leaseId ?? now.lease
            now.task = claims.at(-1)?.taskId ?? now.task
          },
          failed: (it) => {
            failed = it
          },
        })
        await store.write({
          kind: 'registerWorkers',
          workers: [{ workerId: 'w', capacity: 50, types: ['work'] }],
        })
        store.demand('w', 50)
        const work = { type: 'work', lane: 'normal', input: '1' } as const
        await store.write({ kind: 'submit', tasks: [{ ...work, taskId: 'mine' }, work] })
        for (const { way, kind, text, make } of calls) {
          const counts = told.get(kind) ?? { answered: 0, refused: 0 }
          told.set(kind, counts)
          try {
            const given = put(make(), now) as never
            await (way === 'write' ? store.write(given) : store.read(given))
            counts.answered += 1
          } catch (caught) {
            counts.refused += 1
            const wrong = wrongWith(caught)
            if (wrong !== undefined || failed !== undefined)
              throw new Error(`${way} ${text}: ${wrong ?? 'the store has failed'}`, { cause: caught })
          }
          if (!thread) clock.advanceBy(7)
        }
        expect(await store.write({ kind: 'cancel', taskId: 'mine' })).toHaveProperty('canceled')
        // Its program may state a smaller capacity of a worker than it has tasks.
        const broken = thread
          ? []
          : violationsIn(await takeSnapshot(store), { config, digest: nodeDigest }).filter(
              (line) => !line.startsWith('I11 worker'),
            )
        expect(broken).toEqual([])
        await store.close()
        expect(failed).toBeUndefined()
      }),
      // Each of the two draws calls of its own: together they draw each kind.
      { seed: thread ? seed : seed + 1, numRuns: runs, endOnFailure: true },
    )
  })

  test.each([
    [
      'demand',
      (store: Awaited<ReturnType<typeof openStore>>, given: unknown) =>
        store.demand(given as never, given as never),
    ],
    [
      'interest',
      (store: Awaited<ReturnType<typeof openStore>>, given: unknown) => store.interest(given as never),
    ],
    [
      'listen',
      (store: Awaited<ReturnType<typeof openStore>>, given: unknown) => store.listen(given as never),
    ],
  ])('%s, with anything', async (_, call) => {
    const store = await openStore('sqlite::memory:')
    fc.assert(
      fc.property(hostile, ({ make }) => {
        expect(wrongOf(() => call(store, make()))).toBeUndefined()
      }),
      { seed, numRuns: draws(30, 300) },
    )
    expect(await store.read({ kind: 'stats' })).toHaveProperty('depth')
    await store.close()
  })
})
