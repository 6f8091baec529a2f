import { failureKinds } from '../../src/task/failure-kind.ts'
import { cancelReason, errorSummary } from '../../src/explain/ended.ts'
import { retriedIn, sinceText, waitingText } from '../../src/explain/words.ts'
import { decideReplay } from '../../src/history/replay.ts'
import { settledFailures } from '../../src/history/settled-failures.ts'
import { memoSeqs, standingMemos, verdictsOf } from '../../src/history/standing.ts'
import { ledgerEntryOf } from '../../src/ledger/entry.ts'
import { entryKinds } from '../../src/ledger/entry-kinds.ts'
import { isFold } from '../../src/ledger/fold-ledger.ts'
import { marketKeyText, marketStageIn } from '../../src/market/market.ts'
import { rankProposals } from '../../src/market/rank.ts'
import { checkStages, violationsText } from '../../src/pipeline/check.ts'
import * as log from '../../src/pipeline/log.ts'
import { isPipelineMemo, pipelineKeyText, type PipelineTerms } from '../../src/pipeline/pipeline.ts'
import { slotShortage } from '../../src/pipeline/slots.ts'
import { logOf, storedLog } from '../../src/pipeline/stored.ts'
import { stageWaitText } from '../../src/pipeline/words.ts'
import { httpLimitIn } from '../../src/quota/http-limit.ts'
import { limitOfKey, quotaKeysOf } from '../../src/quota/quota.ts'
import * as room from '../../src/quota/room.ts'
import { quotaObstacle, quotaStateOf } from '../../src/quota/state.ts'
import { categoriesOf, categoryOfKind } from '../../src/recovery/categories.ts'
import { decideRecovery } from '../../src/recovery/decide.ts'
import { escalationKey } from '../../src/recovery/escalation.ts'
import { decidePassStart } from '../../src/recovery/pass-start.ts'
import { pastFailure } from '../../src/recovery/past-failure.ts'
import { failureCategories, recoveryStrategies } from '../../src/recovery/recovery.ts'
import * as retention from '../../src/retention/retention.ts'
import { mergedSeries } from '../../src/series/merged.ts'
import { withRefused } from '../../src/series/refused.ts'
import { rolledUp, samplesOf, waitBelow } from '../../src/series/sample.ts'
import { keyText } from '../../src/step/key-text.ts'
import { createIdCodec } from '../../src/store/ids.ts'
import { seriesOf } from '../../src/store/series.ts'
import { decideRestart } from '../../src/supervision/decide.ts'
import { labelsWithShutdown, SHUTDOWN_LABEL, shutdownIn } from '../../src/supervision/shutdown.ts'
import {
  afterIn,
  childRestarts,
  supervisedIn,
  supervisionStrategies,
  supervisorTerms,
} from '../../src/supervision/supervision.ts'
import type { Call } from './call.ts'
import { type Draw, either, fields, listOf, of } from './draws.ts'
import { moreCalls } from './more-calls.ts'

const at = of(0, 1, 999, 1_000, 1_500, 60_000, 119_999, 120_000, 3_600_000)
const count = of(0, 1, 2, 3, 50)
const type = of('a', 'b', '')
const lane = of('interactive', 'normal', 'batch')
const flag = of(true, false)
const message = of('no', 'a long story\nof two lines', '')
const key = of(
  'a',
  '',
  '$ku0/doubt/a',
  '$ku0/escalation/3',
  '$ku0/hand-over/1',
  '$ku0/child/a',
  '$ku0/child/$ku0/hand-over/1',
  '$ku0/patience/a',
  '$ku0/ready',
  '$ku0/pipeline',
  '$ku0/stage/a',
  '$ku0/stage/a/2',
  '$ku0/stage-wait/events/1/t,u',
  '$ku0/stage-wait/room/1/t',
  '$ku0/stage-wait/none/1/t',
  '$ku0/publish/t,u/ab/0',
  '$ku0/receive/t,u/1',
  '$ku0/receive/t',
  '$ku0/market/job',
  '$ku0/market/execution/task',
  '$ku0/market/none',
  '$ku0/supervisor/one_for_all/3/60000/children',
  '$ku0/supervisor/one_for_all/3/60000/handler/500',
  '$ku0/supervisor/none/3/60000/children',
  '$ku0/supervisor/one_for_one/3/60000/none',
  '$ku0/supervised/permanent/a',
  '$ku0/supervised/none/a',
  '$ku0/after/0/b/ready/transient/a/completed/permanent/c',
  '$ku0/after/0/b/none/transient/a/ready/permanent',
  '$ku0/limit/a',
  '$ku0/retry/2/a',
  '$ku0/retry/2/$ku0/child/a',
  '$ku0/retry/limit-1/a',
  '$ku0/patched/a',
)

const run = fields({
  type,
  lane,
  workerId: [undefined, 'w', 'x', 'y'],
  startedAt: at,
  endedAt: [null, 500, 1_000, 1_001, 60_001, 3_600_000],
  leaseState: ['running', 'completed', 'failed', 'expired'],
  taskState: [undefined, 'queued', 'completed', 'failed'],
  waitMs: [undefined, 0, 1, 2, 3, 1_000, 1e12],
})
const sample = fields({
  stepMs: [60_000, 60_000, 3_600_000],
  at: [60_000, 120_000, 180_000, 3_600_000],
  type,
  lane,
  queued: [undefined, 0, 3],
  running: count,
  started: count,
  completed: count,
  failed: count,
  waits: [[], [1], [0, 2, 5], [3, 0, 0, 1]],
})
const filter = fields({
  windowMs: [undefined, 0, 120_000, 3_600_000],
  stepMs: [undefined, 0, 30_000, 120_000],
  type: [undefined, 'a', 'b'],
  lane: [undefined, undefined, 'normal', 'batch'],
})

const recovery = fields({
  category: failureCategories,
  kind: failureKinds,
  strategy: recoveryStrategies,
  model: [undefined, 'big'],
  task: [undefined, 'other'],
  taskModel: [undefined, 'small'],
})
const failure = fields({
  seq: [3, 7],
  at,
  attempt: [1, 2],
  reason: ['retry', 'expired', 'owner_dead', 'rejected'],
  error: [undefined, '{}'],
  recovery: either(of(undefined), recovery),
})
const handedOver = fields({ task: ['other'], nth: [1, 2], isOver: [undefined, true] })
const table = fields(
  Object.fromEntries(failureCategories.map((category) => [category, [...recoveryStrategies, 'fail']])),
)
const policy = fields({
  table,
  fallbackModels: [[], ['small'], ['small', 'tiny']],
  fallback: [undefined, { task: 'other' }, { task: 'other', model: 'big' }],
})

const text =
  (draw: Draw): Draw =>
  (random) =>
    JSON.stringify(draw(random))
const error = either(
  fields({
    name: ['Error', 'TimeoutError'],
    message: [undefined, 'no'],
    code: [
      undefined,
      'timeout',
      'ETIMEDOUT',
      'rate_limited',
      'invalid_output',
      'not_approved',
      'escalated',
      'none',
      1,
    ],
    cause: either(
      of(undefined, null, 'text'),
      fields({ name: ['TimeoutError', 'Error'], code: [undefined, 'budget_exceeded'] }),
    ),
    errors: either(
      of(undefined, 'none'),
      listOf(fields({ code: ['crashed', 'payload_too_large', undefined] })),
    ),
  }),
  of(
    undefined,
    null,
    'text',
    1,
    Object.assign(() => {}, { code: 'timeout' }),
  ),
)
const requeued = text(
  fields({
    reason: ['retry', 'expired', 'owner_dead', 'yielded', 'drained'],
    attempt: [1, 2, 3],
    error: [undefined, { message: 'no', code: 'x' }],
    recovery: either(of(undefined), recovery),
    restartedBy: [undefined, undefined, 't'],
    interrupted: [undefined, undefined, true],
    key: ['a', 'b'],
    retry: [undefined, { delayMs: 1 }],
    escalates: [undefined, true],
  }),
)

const terms: PipelineTerms = {
  stages: [
    { stage: 'a', publishes: ['t', 'u'], subscribes: [] },
    { stage: 'b', publishes: ['v', 'toString'], subscribes: ['t', 'u'], partitions: 2 },
    { stage: 'c', publishes: [], subscribes: ['t', 'v', 'toString'] },
  ],
  maxUnread: 3,
}
const eventTypes = ['t', 'u', 'v', 'toString']

/** A log after some publications, receipts and ends. */
const pipeline: Draw = (random) => {
  let now = log.emptyLog(terms)
  for (const [nth, { task: _, ...place }] of now.parts.entries())
    if (random.int(5) > 0) now = log.stageBegun({ terms, log: now }, place, nth + 10)
  for (let turn = random.int(12); turn > 0; turn -= 1) {
    const eventType = random.pick(eventTypes)
    const part = random.int(now.parts.length)
    const chance = random.int(8)
    if (chance < 4)
      now = log.published({ terms, log: now }, eventType, {
        count: 1 + random.int(3),
        keyHashes: random.pick([undefined, [1, null, 2]]),
      })
    else if (chance < 7) {
      const delivery = log.deliveryFor(
        { terms, log: now },
        part,
        [...new Set(['t', eventType])],
        1 + random.int(3),
      )
      if (delivery.as === 'events') now = delivery.log
    } else
      now = log.stageEnded(
        { terms, log: now },
        {
          stage: now.parts[part]?.stage ?? '',
          ...(now.parts[part]?.partition === undefined ? {} : { partition: now.parts[part].partition }),
        },
      )
  }
  return { terms, log: now }
}
const place = of(0, 1, 2, 3)
const stage = fields({
  stage: ['a', 'b', 'b'],
  publishes: listOf(of('tick', 'tock'), 2),
  subscribes: listOf(of('tick', 'tock', 'tik', 'none'), 2),
})

const limit = fields({
  maxInFlight: [undefined, 0, 1, 2],
  perWindow: [undefined, 1, 2],
  tokensPerWindow: [undefined, 10],
  onExceeded: ['reject', 'defer'],
})
const quotas = fields({
  models: either(of(undefined), fields({ big: limit })),
  tools: either(of(undefined), fields({ t: limit })),
  labels: either(of(undefined), fields({ team: fields({ a: limit }) })),
  defaults: either(
    of(undefined),
    fields({
      model: either(of(undefined), limit),
      client: limit,
      labels: either(of(undefined), fields({ team: limit })),
    }),
  ),
  windowMs: [undefined, 1_000, 60_000],
})
const rule = either(of(undefined), fields({ key: ['model:big'] }), limit)
const counters = fields({
  key: [
    'model:big',
    'model:small',
    'tool:t',
    'client:a',
    'label:team=a',
    'label:team=b',
    'label:none',
    'none',
  ],
  queued: [0, 1],
  running: [0, 1, 2],
  windowStart: [0, 60_000],
  windowCount: [0, 1, 2],
  windowTokens: [0, 9, 10],
  blockedUntil: [0, 1_000, 70_000],
})
const tokens = of(0, 1, 2, 11)

const groupRule = either(
  of('forever', {}),
  fields({ ageMs: [undefined, 0, 1_000], count: [undefined, 0, 2] }),
)
const rules = fields({
  completed: groupRule,
  failed: groupRule,
  canceled: groupRule,
  types: either(
    of({}),
    fields({ a: fields({ completed: either(of(undefined), groupRule) }), b: fields({ failed: groupRule }) }),
  ),
  keysMs: [0, 1_000],
})
const cutoff = fields({
  state: ['completed', 'failed'],
  type: [undefined, undefined, 'a'],
  except: [undefined, ['a'], ['a', 'b']],
  count: [0, 2, 3],
  from: [2, 5],
})

const entry = fields({
  client: ['ada'],
  seq: [1, 2],
  at,
  kind: entryKinds,
  amount: [0, 1_000_000, -2_500_000],
  held: [0, 1_000_000],
  credits: [0, 1_000_000],
  reserved: [0, 1_000_000],
  task: [null, 1],
  key: [null, 'k'],
  note: [null, 'n', 'folded:2:ab', 'folded:1:ab'],
})

const sentBack = listOf(of({ since: 2, seq: 6 }, { since: 0, seq: 9 }, { since: 6, seq: 8 }), 2)
const memo = fields({
  seq: [1, 3, 5, 6, 7, 10],
  type: [
    'step.completed',
    'step.failed',
    'step.started',
    'wait.ended',
    'child.ended',
    'child.failed',
    'doubt.inherited',
  ],
  data: text(fields({ key, kind: ['timer', 'signal', 'approval', 'child'] })),
})

const wait = fields({
  key,
  kind: ['timer', 'signal', 'approval', 'child', 'child'],
  name: [undefined, '$ku0/child/a', '$ku0/child/$ku0/hand-over/1', '$ku0/child/$ku0/stage/a', 'go'],
  dueAt: [undefined, 60_000],
})
const child = fields({
  key: ['a', '$ku0/hand-over/1', '$ku0/stage/a'],
  type: ['t', 'u'],
  taskId: ['1'],
  state: ['queued', 'waiting', 'running'],
  waitsFor: [undefined, 'slot', 'worker', 'paused', 'quota:model:big', 'credits', 'signal'],
})
const waiting = fields({
  taskId: ['1'],
  waitingFor: ['signal', 'signal', 'signal', 'budget'],
  divergence: either(
    of(undefined, undefined, undefined),
    fields({
      kind: ['value_unreadable', 'history_edited', 'missing_step'],
      key,
      position: [1],
      expected: ['a'],
      actual: ['b'],
    }),
  ),
  waits: listOf(wait),
})
const budget = either(
  of(undefined),
  fields({
    taskId: ['1', '2'],
    used: [{ tokens: 5 }],
    limits: [{ tokens: 9 }],
    asks: [undefined, { field: 'tokens', by: '1' }, { field: 'tokens', by: '3' }],
  }),
)

const headers = fields({
  'retry-after': [undefined, '2', ' 1.5 ', 'Thu, 01 Jan 1970 00:02:00 GMT', 'soon', '-1'],
  'retry-after-ms': [undefined, undefined, '250', 'x'],
  'x-ms-retry-after-ms': [undefined, undefined, undefined, '10'],
  'x-should-retry': [undefined, undefined, 'true', 'false'],
  'x-ratelimit-remaining-requests': [undefined, '0', ' 0 ', '1'],
  'x-ratelimit-reset-requests': [
    undefined,
    '6m0s',
    '20ms',
    '1h2m3.5s',
    '30',
    '2000000000',
    '1970-01-01T00:05:00Z',
    'soon',
    '',
  ],
  'x-ratelimit-remaining-tokens': [undefined, '0'],
  'x-ratelimit-reset-tokens': [undefined, '1s'],
})
const response = fields({
  status: [429, 429, 503, 529, 500],
  code: [undefined, undefined, 'insufficient_quota'],
  headers,
})

const ids = createIdCodec('0123456789abcdef0')

/** By what they are called. */
export const calls: Readonly<Record<string, Call>> = {
  cancelReason: {
    call: cancelReason,
    given: [
      fields({
        reason: [
          undefined,
          'x',
          "the swarm 's' ends",
          "shed: the swarm 's' is under pressure",
          'a budget above it was exceeded',
          'its branch was given up',
          'its parent was sent back',
          'its parent was canceled',
          'its parent has failed',
          'its parent',
        ],
        parent: [undefined, 'p'],
        swarm: [undefined, 's'],
      }),
    ],
  },
  errorSummary: {
    call: errorSummary,
    given: [
      either(error, fields({ message: [message, undefined, 'x'.repeat(301), 1], code: ['c', 1, undefined] })),
    ],
  },
  retriedIn: { call: retriedIn, given: [key] },
  sinceText: {
    call: sinceText,
    given: [
      either(
        of(undefined),
        fields({
          reason: ['retry', 'expired'],
          backOff: [undefined, undefined, { keys: ['model:big', 'tool:t'], until: 1 }],
          recovery: either(of(undefined), recovery),
          failure: [undefined, { message: 'no' }],
        }),
      ),
    ],
  },
  waitingText: {
    call: (record, asks, children, failed, stages, shortage) =>
      waitingText(
        record,
        asks,
        children,
        (step) => ((failed as readonly string[]).includes(step) ? { message: `${step} failed` } : undefined),
        stages,
        shortage,
      ),
    given: [
      waiting,
      budget,
      either(of(undefined), fields({ first: listOf(child, 7) })),
      of([], ['a']),
      either(of(undefined), pipeline),
      of(undefined, { tasks: 3, slots: 1 }),
    ],
  },
  keyText: { call: keyText, given: [key] },
  decideReplay: {
    call: (
      it: { used: readonly string[]; memos: readonly string[]; key: string; inputHash?: string },
      hash: string,
    ) =>
      decideReplay({
        ...it,
        used: new Map(it.used.map((used) => [used, 1])),
        memos: new Map(it.memos.map((memoKey) => [memoKey, { key: memoKey, inputHash: hash } as never])),
      }),
    given: [
      fields({
        key: ['a', 'b'],
        inputHash: [undefined, 'x', 'y'],
        used: [[], ['a']],
        memos: [[], ['a', 'b']],
      }),
      of(undefined, 'x'),
    ],
  },
  settledFailures: {
    call: settledFailures,
    given: [
      listOf(
        fields({
          seq: [1, 3, 5, 7],
          type: ['step.failed', 'step.failed', 'step.completed', 'task.waiting', 'task.requeued'],
          data: requeued,
        }),
        6,
      ),
      sentBack,
    ],
  },
  standingMemos: {
    call: standingMemos,
    given: [listOf(memo, 6), sentBack, listOf(fields({ key, seq: [1, 4, 8] }))],
  },
  memoSeqs: { call: memoSeqs, given: [listOf((random) => [key(random), random.int(10)], 6), sentBack] },
  verdictsOf: { call: verdictsOf, given: [of(0, 2, 6), sentBack] },
  ledgerEntryOf: {
    call: (row, named) => ledgerEntryOf(row, ids, () => named),
    given: [entry, of(null, 'mine')],
  },
  isFold: { call: isFold, given: [entry, fields({ entries: [1, 2], hash: ['ab', 'cd'] })] },
  marketStageIn: { call: marketStageIn, given: [key] },
  marketKeyText: { call: marketKeyText, given: [key] },
  rankProposals: {
    call: rankProposals,
    given: [
      listOf(
        fields({
          agent: ['x', 'y', 'z'],
          price: [0, 1, 9],
          capabilities: [[], ['p'], ['p', 'q']],
          tier: ['contracted', 'marketplace'],
          reputation: [undefined, 0.2, 1],
          distance: [undefined, 0, 0.7],
        }),
      ),
      fields({
        prefers: [[], ['p'], ['p', 'q']],
        weights: [
          { capability: 0.4, price: 0.3, weight: 0.2, similarity: 0.1 },
          { capability: 0, price: 0, weight: 0, similarity: 1 },
          { capability: 0, price: 1, weight: 0, similarity: 0 },
        ],
        beta: [0, 0.5],
        explores: [false, false, true],
      }),
    ],
  },
  checkStages: { call: checkStages, given: [listOf(stage)] },
  violationsText: { call: (stages) => violationsText(checkStages(stages), stages), given: [listOf(stage)] },
  hasRoom: { call: log.hasRoom, given: [pipeline, of(...eventTypes)] },
  holdersBack: { call: log.holdersBack, given: [pipeline, of(...eventTypes)] },
  unreadCounts: { call: log.unreadCounts, given: [pipeline, place] },
  deliveryFor: {
    call: log.deliveryFor,
    given: [pipeline, place, of(['t'], ['t', 'u'], ['v', 't'], ['toString']), of(1, 2, 9)],
  },
  isWaitOver: {
    call: log.isWaitOver,
    given: [
      pipeline,
      place,
      either(
        fields({ for: ['room'], type: eventTypes }),
        fields({ for: ['events'], types: [['t'], ['u', 'v']] }),
      ),
    ],
  },
  partOf: { call: log.partOf, given: [pipeline, of(10, 11, 13, 99)] },
  publishersOf: { call: log.publishersOf, given: [pipeline, of(['t'], ['v', 'u'])] },
  published: {
    call: log.published,
    given: [pipeline, of(...eventTypes), fields({ count: [1, 2, 3], keyHashes: [undefined, [1, null, 2]] })],
  },
  stageEnded: {
    call: log.stageEnded,
    given: [pipeline, of({ stage: 'a' }, { stage: 'b', partition: 2 }, { stage: 'c' })],
  },
  storedLog: {
    call: ({ log: it }: { log: log.PipelineLog }) => [storedLog(it), logOf(storedLog(it))],
    given: [pipeline],
  },
  isPipelineMemo: { call: isPipelineMemo, given: [key] },
  pipelineKeyText: { call: pipelineKeyText, given: [key] },
  stageWaitText: { call: stageWaitText, given: [key, either(of(undefined), pipeline)] },
  slotShortage: {
    call: slotShortage,
    given: [
      listOf(type),
      listOf(
        fields({
          types: [['*'], ['a'], ['b', 'a']],
          capacity: [0, 1, 3],
          state: ['idle', 'busy', 'draining', 'silent'],
        }),
      ),
    ],
  },
  httpLimitIn: {
    call: httpLimitIn,
    given: [
      either(
        response,
        response,
        fields({ cause: response }),
        fields({ lastError: response }),
        fields({ errors: listOf(response, 2) }),
        of(
          undefined,
          null,
          'text',
          { cause: { cause: { cause: { cause: { status: 429, headers: { 'retry-after': '1' } } } } } },
          {
            cause: {
              cause: { cause: { cause: { cause: { status: 429, headers: { 'retry-after': '1' } } } } },
            },
          },
        ),
      ),
      of(0, 60_000),
    ],
  },
  limitOfKey: {
    call: (given, { key: named }: { key: string }) => limitOfKey(given, named),
    given: [quotas, counters],
  },
  quotaKeysOf: {
    call: quotaKeysOf,
    given: [
      fields({
        model: [undefined, 'big'],
        tools: [undefined, [], ['t', 'u', 't']],
        client: [undefined, 'a'],
        labels: [undefined, {}, { b: 'x', a: 'y' }],
      }),
    ],
  },
  quotaStateOf: { call: quotaStateOf, given: [either(of(undefined), quotas), counters, at] },
  quotaObstacle: { call: quotaObstacle, given: [either(of(undefined), quotas), counters, at, tokens] },
  shortAtAdmission: { call: room.shortAtAdmission, given: [limit, counters, of(0, 60_000), tokens] },
  shortAtDispatch: { call: room.shortAtDispatch, given: [limit, counters, of(0, 60_000), tokens] },
  hasRoomAtDispatch: { call: room.hasRoomAtDispatch, given: [limit, counters, of(0, 60_000), tokens] },
  roomAtDispatch: { call: room.roomAtDispatch, given: [rule, counters, of(0, 60_000)] },
  countInWindow: { call: room.countInWindow, given: [counters, of(0, 60_000), tokens] },
  addTokens: { call: room.addTokens, given: [counters, of(0, 60_000), tokens] },
  tokensBeyond: { call: room.tokensBeyond, given: [fields({ estimate: tokens, used: tokens }), tokens] },
  tokensLeft: { call: room.tokensLeft, given: [fields({ estimate: tokens, used: tokens }), flag] },
  categoriesOf: { call: categoriesOf, given: [error] },
  categoryOfKind: { call: categoryOfKind, given: [of(...failureKinds)] },
  decideRecovery: {
    call: decideRecovery,
    given: [
      fields({
        kind: failureKinds,
        categories: listOf(of(...failureCategories), 3),
        isFinal: flag,
        tries: [1, 2, 3],
        retry: [{ attempts: 2, backoff: { initialMs: 100, factor: 2, maxMs: 1_000, jitter: 0 } }],
        policy,
        model: [undefined, 'small', 'tiny', 'none'],
        hasHandedOver: flag,
        random: [0.5],
      }),
    ],
  },
  decidePassStart: {
    call: ({ verdict, ...it }: { verdict: 'approved' | 'rejected' | undefined }, model: string) =>
      decidePassStart({
        ...it,
        waits: verdict === undefined ? [] : [{ key: escalationKey(3), outcome: verdict, seq: 4 }],
        currentModel: () => model,
      } as never),
    given: [
      fields({
        failure: either(of(undefined), failure),
        crash: either(of(undefined), failure),
        handedOver: either(of(undefined, undefined), handedOver),
        policy: either(of(undefined), policy),
        verdict: [undefined, 'approved', 'rejected'],
      }),
      of(undefined, 'small'),
    ],
  },
  pastFailure: {
    call: pastFailure,
    given: [
      listOf(
        fields({
          seq: [1, 3, 5],
          at,
          type: ['task.requeued', 'task.requeued', 'task.requeued', 'task.resumed', 'task.started'],
          data: requeued,
        }),
        5,
      ),
    ],
  },
  decideRetention: {
    call: (row, given, now, newest, gone) =>
      retention.decideRetention(row, given, now, newest, (task) => task === gone),
    given: [
      fields({
        id: [1, 3, 9],
        state: ['completed', 'failed', 'canceled'],
        type,
        finishedAt: [0, 1_000],
        parent: [null, null, 7],
        hasOpenChildren: [false, false, true],
        isLastRun: [false, false, true],
        isDamaged: [false, false, true],
        isNewest: [false, false, true],
        key: [null, 'k'],
      }),
      rules,
      of(0, 1_000, 2_000),
      listOf(cutoff),
      of(7, 8),
    ],
  },
  countedGroups: { call: retention.countedGroups, given: [rules] },
  newestOf: {
    call: retention.newestOf,
    given: [
      listOf(
        fields({
          state: ['completed'],
          type: [undefined, 'a'],
          count: [2],
          left: [0, 1],
          from: [undefined, 4],
        }),
      ),
    ],
  },
  dueGroups: { call: retention.dueGroups, given: [rules, of(1_000), listOf(cutoff)] },
  seriesOf: {
    call: seriesOf,
    given: [listOf(run, 8), filter, of(60_000, 120_000, 3_600_000), of(undefined, 0, 1_000)],
  },
  mergedSeries: {
    call: mergedSeries,
    given: [
      fields({ runs: listOf(run, 8), isPruned: flag, samples: listOf(sample, 8) }),
      filter,
      of(120_000, 180_001),
    ],
  },
  withRefused: {
    call: (runs, refusals, given, reach) => withRefused(seriesOf(runs, {}, 120_000), refusals, given, reach),
    given: [
      listOf(run, 2),
      listOf(fields({ at, reason: ['queue_full', 'quota_exceeded'], type, lane }), 8),
      filter,
      of(0, 60_000, 200_000),
    ],
  },
  samplesOf: {
    call: samplesOf,
    given: [
      listOf(run, 8),
      either(of(undefined), listOf(fields({ type, lane, queued: [0, 1, 4] }))),
      of({ at: 60_000, stepMs: 60_000 }, { at: 3_600_000, stepMs: 3_600_000 }, { at: 1_000, stepMs: 1_000 }),
    ],
  },
  rolledUp: {
    call: rolledUp,
    given: [listOf(sample, 8), of({ at: 3_600_000, stepMs: 3_600_000 }, { at: 120_000, stepMs: 120_000 })],
  },
  waitBelow: {
    call: waitBelow,
    given: [of([], [0, 0], [1], [0, 2, 5], [3, 0, 0, 1]), of(0.5, 0.95, 0.99, 1)],
  },
  decideRestart: {
    call: decideRestart,
    given: [
      fields({
        strategy: supervisionStrategies,
        maxRestarts: [0, 1, 3],
        periodMs: [1_000],
        children: (random) =>
          ['a', 'b', 'c'].map((id) => ({
            id,
            restart: random.pick(childRestarts),
            isOpen: random.int(3) > 0,
          })),
        ended: ['a', 'b', 'c', 'd'],
        how: ['completed', 'failed', 'canceled'],
        times: [[], [0, 999], [1_000, 1_500]],
        now: [2_000, 1_999],
      }),
    ],
  },
  labelsWithShutdown: {
    call: labelsWithShutdown,
    given: [
      of(undefined, {}, { a: 'b' }, { [SHUTDOWN_LABEL]: '5' }),
      fields({ own: [undefined, 1], supervisor: [undefined, 2] }),
    ],
  },
  shutdownIn: {
    call: shutdownIn,
    given: [
      fields({
        parentId: [undefined, 'p', 'p'],
        labels: [
          undefined,
          {},
          ...['5', '0', '05', '86400000', '86400001', '999999999', 'x', '5x', 'x5', ''].map((told) => ({
            [SHUTDOWN_LABEL]: told,
          })),
        ],
      }),
    ],
  },
  supervisorTerms: { call: supervisorTerms, given: [key] },
  supervisedIn: { call: supervisedIn, given: [key] },
  afterIn: { call: afterIn, given: [key] },
  ...moreCalls,
}
