import fc from 'fast-check'
import { divergenceKinds } from '../../src/history/divergence-kinds.ts'
import * as core from '../../src/index.ts'
import { fields, listOf, mostly, type Piece, piece, values } from './pieces.ts'

/**
 * What trusts its types: it is given what was checked before, or what was read from a store. Nothing is promised of its answer to
 * anything else, but that there is an end to it, and that it changes nothing of what it was given.
 */
export const typed: readonly string[] = wordsOf(`
  ConfigError DuplicateStepKey InvalidTransition LeaseLost PayloadTooLarge StepNotSerializable StoreError TaskCanceled
  chainRefusal decisionOfPast errorOfPast escalationWait
  accountPromise addUsage addUse agedRank categoryOfKind aheadByLane aheadByShares approvalName assertFields branchLimitKey budgetAmount
  budgetAmounts callOf canAgentMove chainText childKeyOf childName createIdCodec
  decideAdmission decideAtDecision decideBackoff decideCatchUp decideChain decideDivergence decideOutcome decidePassStart decideReplacement decideReplay decideScaling
  describeDivergence differencesAmong distanceBetween divergenceOfFault doubtKey effectiveWeight escalationKey firstLines handOverKey handOverLabels meantText
  foldEvents foldRunOrder goesBeyond hasAll historyEdited idempotencyKey instead invalid isAmong isFinal parseJson
  isFinalError isHandOver isInternal isOneOf isQuickDeath isRetryWait isVoid keyText laneFor countedGroups dueGroups newestOf
  listOf nearestTo needsAbortController nextReputation normalize orderHash orderOfHistory outlivesRejection
  pastFailure patienceKey pauseOf pressureOf problemsIn promiseIn quotaKeysOf quotaObstacle quotaStateOf resistanceOf runKeyOf
  runsType scalarPressure Heap mergedSeries withRefused rolledUp samplesOf shareIncrement softAboveHard strongestRecovery suggestionFor
  afterKey labelsWithShutdown shutdownIn supervisedIn supervisedKey supervisorKey supervisorTerms
  marketKey marketStageAfter marketStageIn marketTaskKey rankProposals
  checkStages isPipelineMemo keyHash partitionFor partsOf publicationKey receiptKey slotShortage slotShortageText stageCallText stageKey stagePartText stageWaitIn stageWaitKey violationsText
  decideConfiguration settingDifferences settingsAmong statedSettings storeSettingsOf withSettings
  suspectFrom takesLane toRuntimeError typeDifferences usageOf valueCodec waitFor wantsRoom wholeNumber withoutUndefined workedOnBy
`)

function wordsOf(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}

/** What a function is given that answers, as a rule; of most any values of their parts will do. */
export function givenTo(name: string, parameters: number): fc.Arbitrary<readonly Piece[]> {
  const given = shaped[name] ?? Array.from({ length: Math.max(2, parameters) }, () => anything)
  return fc.tuple(...given).filter((pieces) => !pieces.some(({ text }) => isLong.test(text)))
}

/** Where an object is meant, each of its millions of characters is a field: to copy those takes longer than a call may. */
const isLong = /a million times|2 MB/

const number = values(0, 1, 2, 3, 100, 1_000_000, -1, 0.5, Number.MAX_SAFE_INTEGER, 2 ** 1_023)
const word = values('a', 'b', 'queued', 'running', 'model:big', 'all', 'one', 'limit-1/a', '$ku0/child/a')
const words = wordsOf(`
  key kind id type name state reason workerId taskId model message
`)
const numbers = wordsOf(`
  seq at now since position attempt crashes laneRank sequence depth size inFlight capacity lastSeenAt expiresAt
  scar scarAt openedAt probeAt count running tokens money cost steps wallMs windowMs windowStart windowCount
  graceMs maxCatchUp maxAgents threshold pressure weight credits retryAfterMs latency compute memory initialMs
  maxMs factor jitter
`)
const lists = wordsOf('types due used memos recorded events tools expected problems')
const objects = wordsOf('limits soft hard error models average')
const each = (names: readonly string[], part: fc.Arbitrary<Piece>) =>
  Object.fromEntries(names.map((name) => [name, part]))
const parts = { ...each(words, word), ...each([...numbers, ...core.dimensions], number) }
const flat = fields(parts)
const record = fields({
  ...parts,
  ...each(lists, listOf(fc.oneof(number, word, flat))),
  ...each(objects, flat),
})
const anything = mostly(number, word, record, listOf(fc.oneof(number, word, record)))

const made = (text: string, make: () => unknown) => fc.constant(piece(text, make))
const digest = made('a digest', () => ({ sha256: () => new Uint8Array(32), sha256Hex: (it: string) => it }))
const event = fields(
  { seq: number, type: word, at: number, data: values({ key: 'a' }, {}) },
  'seq',
  'type',
  'data',
)
const state = values(...core.taskStates)
const map = made('a map', () => new Map([['a', { tier: 0, time: 1, key: 'a' }]]))
const stream = fields(
  {
    laneRank: number,
    client: values('a', 'b'),
    depth: number,
    earlier: number,
    increment: number,
    place: number,
  },
  'client',
)

const quota = mostly(values({ models: { big: { maxInFlight: 1, perWindow: 2 } }, windowMs: 60_000 }))
const counters = values({
  key: 'model:big',
  queued: 1,
  running: 1,
  blockedUntil: 0,
  windowStart: 0,
  windowCount: 2,
  windowTokens: 5,
})
const pass = made('a pass', () => ({
  recorded: [],
  used: new Map(),
  branchesAt: new Map(),
  certainBelow: 1,
  call: { key: 'a', position: 1, isOpen: false, branches: false },
}))
const score = values({ quality: 1 }, Object.fromEntries(core.dimensions.map((name) => [name, 0.5])))
const wait = fields(
  { key: word, kind: values('step', 'timer'), seq: number, terms: values(null) },
  'key',
  'kind',
)

const stages = listOf(
  fields(
    { stage: word, publishes: listOf(word), subscribes: listOf(word) },
    'stage',
    'publishes',
    'subscribes',
  ),
)

const shaped: Readonly<Record<string, readonly fc.Arbitrary<Piece>[]>> = {
  aheadByShares: [stream, listOf(stream), map, values('dispatch', 'enqueue')],
  withSettings: [record, values('{}', '{"maxClients":1}', '{"shares":{},"later":1}', '[]', 'no JSON')],
  mergedSeries: [
    values({ runs: [], isPruned: false, samples: [] }),
    values({}, { type: 'a' }, { windowMs: 1_000 }),
    values(0, 1_000_000),
  ],
  withRefused: [
    values({ stepMs: 1_000, points: [{ at: 1_000, started: 0, completed: 0, failed: 0, running: 0 }] }),
    values([], [{ at: 500, reason: 'queue_full', type: 'a', lane: 'normal' }] as const),
    values({}, { type: 'a' }, { lane: 'batch' } as const),
    values(0, 1_000),
  ],
  describeDivergence: [
    fields(
      { kind: values(...divergenceKinds), key: word, position: number, expected: word, actual: word },
      'kind',
      'key',
      'expected',
      'actual',
    ),
  ],
  outlivesRejection: [wait],
  foldEvents: [listOf(event), listOf(number)],
  goesBeyond: [number, pass],
  decideDivergence: [pass],
  checkStages: [stages],
  keyHash: [digest, word],
  partsOf: [fields({ stage: word, partitions: values(2, undefined) }, 'stage')],
  receiptKey: [listOf(word), number],
  afterKey: [number, word, listOf(values({ id: 'a', restart: 'transient', until: 'ready' }))],
  stageWaitKey: [word, fields({ for: values('events'), types: listOf(word) }, 'for', 'types')],
  violationsText: [
    listOf(
      values(
        { rule: 'duplicate_stage', stage: 'a' },
        { rule: 'invalid_subscription', stage: 'a', missing: ['x'] },
      ),
    ),
    stages,
  ],
  slotShortage: [
    listOf(word),
    listOf(
      values({ types: ['*'], capacity: 1, state: 'idle' }, { types: [], capacity: 2, state: 'draining' }),
    ),
  ],
  slotShortageText: [values({ tasks: 3, slots: 2 }, { tasks: 2, slots: 1 })],
  decideScaling: [
    fields(
      {
        depth: number,
        limits: fields({ min: number, max: number, growAt: number, idleMs: number }, 'min', 'max'),
        members: listOf(fields({ workerId: word, inFlight: number, idleMs: number })),
      },
      'members',
      'limits',
    ),
  ],
  decideAtDecision: [fields({ key: word, position: number }), pass],
  instead: [word, listOf(word)],
  parseJson: [mostly(values('1', '{"a":[]}', '{"\\n":1}', '['))],
  isFinal: [state],
  nearestTo: [score, listOf(fields({ agentId: word, average: score }, 'agentId', 'average')), score, number],
  quotaObstacle: [quota, counters, number, number],
  quotaStateOf: [quota, counters, number],
  suggestionFor: [word, listOf(word)],
  createIdCodec: [mostly(values('0123456789abcdef0'))],
  decideReplay: [made('a case', () => ({ key: 'a', memos: new Map(), used: new Map() }))],
  foldRunOrder: [listOf(word), digest],
  idempotencyKey: [digest, word, word, mostly(word), number],
  orderHash: [word, event, digest],
  orderOfHistory: [listOf(event), digest],
  accountPromise: [values({}, { agreement: 'gold', 'agreement.latencyMs': '1000' }, { agreement: 'gold' })],
  promiseIn: [
    values({}, { 'agreement.latencyMs': '1000' }, { 'agreement.latencyMs': 'soon' }),
    number,
    number,
  ],
  // The rules are ours: it looks for what each name that is not among them may have meant.
  problemsIn: [record, made('rules', () => ({ key: core.nameRule, at: core.delayRule }))],
}
