import {
  type Claim,
  childName,
  dimensions,
  domainWeights,
  MICRO,
  type ScheduleDefinition,
  type Scores,
  type Submission,
  partsOf,
  PIPELINE_KEY,
  publicationKey,
  receiptKey,
  STAGE_WAIT_NAME,
  stageKey,
  stageWaitKey,
  SUPERVISOR_NAME,
  supervisedKey,
  supervisorKey,
  type UsageSum,
  type WaitRequest,
  type Write,
  type WriteKind,
} from '@ku0/agent-runtime-core'
import { hold, type Scene, submission, termsOf } from '@ku0/agent-runtime-conformance'

/** The settings with which each of them has something to do. */
export const settingsOfDeeds = {
  retention: {
    completed: { ageMs: 1 },
    failed: 'forever',
    canceled: 'forever',
    keysMs: 1,
    ledger: { ageMs: 1 },
  },
  maxInlineBytes: 500,
  quotaConfig: { models: { big: { maxInFlight: 2, onExceeded: 'defer' } } },
  shares: { ledger: true },
} as const

/** What a store is to be asked, and what it answers in full or in part. */
export interface Deed<K extends WriteKind> {
  readonly write: Write<K>
  readonly answer: unknown
}

/** Too long to stand in its row: it becomes a blob. */
const large = JSON.stringify('x'.repeat(1_000))
const charged: UsageSum = { tokens: 3, money: MICRO, cost: 2 * MICRO }
const nap: WaitRequest = { key: 'nap', position: 5, kind: 'timer', delayMs: 60_000 }
const reply: WaitRequest = { key: 'reply', position: 6, kind: 'signal', name: 'reply' }
const plan: WaitRequest = {
  key: 'plan',
  position: 7,
  kind: 'approval',
  approval: {
    artifact: large,
    mode: 'supervised',
    asked: true,
    maxRetries: 3,
    onReject: 'rerun',
    onTimeout: 'throw',
  },
}
const forChild: WaitRequest = { key: childName('c'), position: 8, kind: 'child', name: childName('c') }
/** What touches counters of every sort. */
const costly: Partial<Submission> = {
  client: 'ada',
  model: 'big',
  labels: { team: 'a' },
  budget: { limits: { tokens: 100, steps: 20 }, soft: { tokens: 50 } },
}

function suspend(scene: Scene, { leaseId }: Claim, waits: readonly WaitRequest[], stay = false) {
  return scene.write({ kind: 'suspend', leaseId, waits, stay })
}

function spawning({ leaseId }: Claim, key: string): Write<'spawn'> {
  const child = {
    type: 'child',
    lane: 'interactive',
    input: large,
    budget: { limits: { tokens: 20 }, soft: {} },
  } as const
  return { kind: 'spawn', leaseId, key, position: 1, policy: 'cancel', submission: child }
}

/** A task that has recorded a step and waits for its child, which runs; one more waits for the room that the child takes up. */
async function family(scene: Scene): Promise<{ readonly parent: Claim; readonly child: Claim }> {
  const parent = await scene.running(costly)
  await scene.step(parent, 'one', large)
  await scene.write(spawning(parent, 'c'))
  await scene.worker('children', 1, ['child'])
  const child = await scene.claim()
  await suspend(scene, parent, [forChild, nap, reply])
  await scene.accepted({ type: 'child', client: 'bob' })
  scene.free('children')
  return { parent, child }
}

/** A supervisor that waits, with a child. */
async function supervising(scene: Scene): Promise<{ readonly taskId: string; readonly child: string }> {
  const { leaseId, taskId } = await scene.running(costly)
  const key = supervisorKey({ strategy: 'one_for_one', maxRestarts: 5, periodMs: 60_000, endsWith: 'cancel' })
  const waits = [{ key, position: 0, kind: 'signal', name: SUPERVISOR_NAME }] as const
  await scene.write({ kind: 'suspend', leaseId, waits, stay: true })
  const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: 'child' })
  const spawned = await scene.write({
    kind: 'spawn',
    leaseId,
    key: supervisedKey({ id: 'part', restart: 'transient' }),
    position: 1,
    policy: 'cancel',
    submission: task,
  })
  if (spawned.fenced !== 'ok' || spawned.as !== 'spawned') throw new Error('not spawned')
  await scene.write({ kind: 'suspend', leaseId, waits, stay: false })
  return { taskId, child: spawned.child.taskId }
}

/** The claims of two stages of a pipeline: one that has published, and one that receives. */
export async function pipeline(
  scene: Scene,
  partitions?: number,
): Promise<{ readonly from: Claim; readonly to: Claim }> {
  const { leaseId } = await scene.running(costly)
  const [first, second] = pipelineTerms.stages
  const terms =
    partitions === undefined
      ? pipelineTerms
      : { ...pipelineTerms, stages: [first, { ...second, partitions }] }
  await scene.write({ kind: 'openPipeline', leaseId, key: PIPELINE_KEY, position: 0, terms })
  await scene.worker('stages', 2, ['stage'])
  const claims: Claim[] = []
  for (const [position, place] of terms.stages.flatMap(partsOf).entries()) {
    const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: 'stage' })
    await scene.write({
      kind: 'spawn',
      leaseId,
      key: stageKey(place),
      position: position + 1,
      policy: 'cancel',
      submission: task,
    })
    if (claims.length < 2) claims.push(await scene.claim())
  }
  const [from, to] = claims
  if (from === undefined || to === undefined) throw new Error('no stages')
  await scene.write({ kind: 'publish', leaseId: from.leaseId, ...publication })
  return { from, to }
}

const pipelineTerms = {
  stages: [
    { stage: 'from', publishes: ['x'], subscribes: [] },
    { stage: 'to', publishes: [], subscribes: ['x'] },
  ],
  maxUnread: 5,
} as const
const publication = {
  key: publicationKey('x', 'first', 0),
  position: 0,
  type: 'x',
  events: ['1', '2'],
} as const

/** A task that runs, is busy with a step, and has a wait open. */
async function busy(scene: Scene): Promise<Claim> {
  const claim = await scene.running(costly)
  await suspend(scene, claim, [nap], true)
  return claim
}

/** A task that waits in the queue for the room of the one that runs, which has said that it has some. */
async function withHeir(scene: Scene): Promise<Claim> {
  const claim = await busy(scene)
  await scene.accepted({ ...costly, client: 'bob' })
  scene.free(claim.workerId)
  return claim
}

async function scheduled(scene: Scene): Promise<ScheduleDefinition> {
  const definition: ScheduleDefinition = {
    timing: { everyMs: 1_000, anchorAt: scene.now },
    run: { type: 'tick', lane: 'batch', input: large, client: 'cron' },
    catchUp: 'all',
    graceMs: 0,
    overlap: 'allow',
  }
  await scene.write({ kind: 'putSchedule', name: 'often', definition, nextAt: scene.now + 1_000 })
  return definition
}

const swarm = { route: 'work', terms: termsOf(), maxAgents: 3, sharedBudget: {}, threshold: 0.8 }
const agent = (name: string): Partial<Submission> => ({ swarm: 's', agent: name, profile: termsOf() })

async function swarming(scene: Scene): Promise<void> {
  await scene.write({ kind: 'putSwarm', name: 's', terms: swarm })
  await hold(scene, agent('first'))
  await scene.accepted(agent('second'))
}

const judgement = {
  kind: 'evaluate',
  agentId: 'ada',
  domain: 'default',
  weights: domainWeights.default,
  scores: Object.fromEntries(dimensions.map((dimension) => [dimension, 0.5])) as Scores,
  missing: [],
} as const

/** For each kind of write one that is taken, in a life in which it changes more than itself. */
export const deeds: { readonly [K in WriteKind]: (scene: Scene) => Promise<Deed<K>> } = {
  submit: async (scene) => {
    await scene.worker('w', 1)
    const tasks = [
      submission({ ...costly, input: large, idempotencyKey: 'k', taskId: 'own' }),
      submission({ lane: 'batch', delayMs: 5_000 }),
      submission({ refused: { reason: 'invalid_payload', message: 'no' } }),
    ]
    const answer = [{ accepted: true, taskId: 'own' }, { accepted: true }, { reason: 'invalid_payload' }]
    return { write: { kind: 'submit', tasks }, answer }
  },
  settle: async (scene) => {
    const { leaseId } = (await family(scene)).child
    const settlement = { as: 'completed', output: large } as const
    const backOff = { keys: ['model:big'], retryAfterMs: 5_000 }
    return { write: { kind: 'settle', leaseId, settlement, charged, backOff }, answer: 'ok' }
  },
  release: async (scene) => {
    const { leaseId } = await withHeir(scene)
    return { write: { kind: 'release', leaseId, reason: 'yielded', charged }, answer: 'ok' }
  },
  recordStep: async (scene) => {
    const { leaseId } = await busy(scene)
    const step = {
      key: receiptKey(['x'], 0),
      position: 0,
      durationMs: 1,
      result: large,
      inputHash: 'a'.repeat(64),
    }
    return {
      write: { kind: 'recordStep', leaseId, ...step, charged, drops: ['nap'] },
      answer: { fenced: 'ok' },
    }
  },
  startStep: async (scene) => {
    const { leaseId } = await busy(scene)
    return { write: { kind: 'startStep', leaseId, key: receiptKey(['x'], 0), position: 0 }, answer: 'ok' }
  },
  failStep: async (scene) => {
    const { leaseId } = await busy(scene)
    const failure = {
      key: receiptKey(['x'], 0),
      position: 0,
      durationMs: 1,
      error: large,
      retry: 1,
      drops: ['nap'],
    }
    const backOff = { keys: ['model:big'], retryAfterMs: 5_000 }
    return { write: { kind: 'failStep', leaseId, ...failure, charged, backOff }, answer: 'ok' }
  },
  checkpoint: async (scene) => {
    const { leaseId } = await busy(scene)
    await scene.write({ kind: 'checkpoint', leaseId, data: '1' })
    return { write: { kind: 'checkpoint', leaseId, data: large }, answer: 'ok' }
  },
  appendOutput: async (scene) => {
    const { leaseId } = await busy(scene)
    return { write: { kind: 'appendOutput', leaseId, chunks: ['1', large, '3'] }, answer: 'ok' }
  },
  progress: async (scene) => {
    const { leaseId } = await busy(scene)
    return { write: { kind: 'progress', leaseId, progress: '0.5' }, answer: 'ok' }
  },
  suspend: async (scene) => {
    const { leaseId } = await withHeir(scene)
    const answer = { suspended: true, resolved: [] }
    return { write: { kind: 'suspend', leaseId, waits: [nap, reply, plan], stay: false, charged }, answer }
  },
  diverge: async (scene) => {
    const { leaseId } = await withHeir(scene)
    const divergence = {
      kind: 'missing_step',
      key: receiptKey(['x'], 0),
      position: 0,
      expected: 'one',
    } as const
    return { write: { kind: 'diverge', leaseId, divergence, charged }, answer: 'ok' }
  },
  spawn: async (scene) => {
    await scene.worker('children', 1, ['child'])
    return { write: spawning(await busy(scene), 'c'), answer: { as: 'spawned' } }
  },
  registerWorkers: async (scene) => {
    await scene.accepted(costly)
    const workers = ['v', 'w'].map((workerId) => ({ workerId, capacity: 2, types: ['*'] }))
    scene.free('w', 2)
    return { write: { kind: 'registerWorkers', workers }, answer: true }
  },
  drainWorkers: async (scene) => {
    const { workerId } = await busy(scene)
    await scene.worker('v', 1)
    return { write: { kind: 'drainWorkers', workerIds: [workerId, 'v'] }, answer: true }
  },
  askDrain: async (scene) => {
    const { workerId } = await busy(scene)
    return { write: { kind: 'askDrain', workerId, draining: true }, answer: 1 }
  },
  pauseQueue: async (scene) => {
    await busy(scene)
    return { write: { kind: 'pauseQueue', types: ['work'], lanes: ['batch'], paused: true }, answer: 2 }
  },
  removeWorkers: async (scene) => {
    const { workerId } = await busy(scene)
    await scene.worker('v', 1, ['work'], 0)
    scene.free('v')
    return { write: { kind: 'removeWorkers', workerIds: [workerId] }, answer: true }
  },
  cancel: async (scene) => {
    const { taskId } = (await family(scene)).parent
    return { write: { kind: 'cancel', taskId, reason: 'enough' }, answer: { canceled: true } }
  },
  cancelMany: async (scene) => {
    const { parent, child } = await family(scene)
    return { write: { kind: 'cancelMany', taskIds: [child.taskId, parent.taskId] }, answer: { canceled: 2 } }
  },
  prune: async (scene) => {
    const claim = await busy(scene)
    await scene.settle(claim)
    await busy(scene)
    await scene.pass(10)
    const none = { completed: 0, failed: 0, canceled: 0 }
    return {
      write: { kind: 'prune', ...(await scene.due()) },
      answer: { pruned: { ...none, completed: 1 }, looked: 1 },
    }
  },
  signal: async (scene) => {
    const { taskId, workerId } = (await family(scene)).parent
    scene.free(workerId)
    return { write: { kind: 'signal', taskId, name: 'reply', value: large }, answer: { delivered: true } }
  },
  resolveApproval: async (scene) => {
    const claim = await busy(scene)
    const { taskId, workerId } = claim
    await scene.step(claim, 'draft', large)
    await suspend(scene, claim, [plan])
    const { approvals } = await scene.read({ kind: 'approvals', taskId, limit: 1 })
    scene.free(workerId)
    const verdict = {
      request: approvals[0]?.request ?? 0,
      verdict: 'rejected',
      value: '{"feedback":"no"}',
    } as const
    return {
      write: { kind: 'resolveApproval', taskId, ...verdict },
      answer: { as: 'resolved', state: 'queued' },
    }
  },
  resume: async (scene) => {
    const { taskId, leaseId, workerId } = await busy(scene)
    const divergence = {
      kind: 'missing_step',
      key: receiptKey(['x'], 0),
      position: 0,
      expected: 'one',
    } as const
    await scene.write({ kind: 'diverge', leaseId, divergence })
    scene.free(workerId)
    return { write: { kind: 'resume', taskId }, answer: { resumed: true } }
  },
  fork: async (scene) => {
    const claim = await busy(scene)
    for (const [position, key] of ['one', 'two', 'three'].entries())
      await scene.step(claim, key, position === 1 ? large : '1', position)
    await scene.settle(claim, { as: 'failed', kind: 'error', error: '{}' })
    scene.free(claim.workerId)
    const { taskId } = claim
    return {
      write: {
        kind: 'fork',
        taskId,
        fromStep: 'three',
        edits: { one: large },
        onlyOver: true,
        change: { idempotencyKey: 'again' },
      },
      answer: { as: 'submitted', receipt: { accepted: true } },
    }
  },
  retryMany: async (scene) => {
    const taskIds: string[] = []
    for (const end of [1, 2]) {
      const claim = await busy(scene)
      await scene.step(claim, 'one', end === 1 ? large : '1', 0)
      await scene.settle(claim, { as: 'failed', kind: 'error', error: '{}' })
      scene.free(claim.workerId)
      taskIds.push(claim.taskId)
    }
    return {
      write: { kind: 'retryMany', taskIds },
      answer: { retried: 2, before: 0, rejected: 0, skipped: 0 },
    }
  },
  answerBudget: async (scene) => {
    const claim = await scene.running(costly)
    const { taskId, leaseId, workerId } = claim
    const step = { key: receiptKey(['x'], 0), position: 0, durationMs: 1, result: '1' }
    await scene.write({ kind: 'recordStep', leaseId, ...step, charged: { tokens: 60, money: 0, cost: 0 } })
    await scene.release(claim)
    scene.free(workerId)
    const answer = { as: 'continue', raise: { tokens: 50 } } as const
    return { write: { kind: 'answerBudget', taskId, answer }, answer: { as: 'answered', resumed: 1 } }
  },
  abortSettled: async (scene) => {
    const { taskId, leaseId } = await busy(scene)
    await scene.cancel(taskId)
    return { write: { kind: 'abortSettled', leaseId, how: 'leaked', afterMs: 5, charged }, answer: true }
  },
  putSchedule: async (scene) => {
    const { run, ...definition } = await scheduled(scene)
    return {
      write: {
        kind: 'putSchedule',
        name: 'often',
        definition: { ...definition, run: { ...run, lane: 'normal' } },
        nextAt: scene.now + 2_000,
      },
      answer: { as: 'put', change: 'replaced' },
    }
  },
  pauseSchedule: async (scene) => {
    await scheduled(scene)
    return { write: { kind: 'pauseSchedule', name: 'often' }, answer: { paused: true } }
  },
  resumeSchedule: async (scene) => {
    const { timing } = await scheduled(scene)
    await scene.write({ kind: 'pauseSchedule', name: 'often' })
    const nextAt = scene.now + 3_000
    return { write: { kind: 'resumeSchedule', name: 'often', timing, nextAt }, answer: { as: 'resumed' } }
  },
  removeSchedule: async (scene) => {
    await scheduled(scene)
    return { write: { kind: 'removeSchedule', name: 'often' }, answer: true }
  },
  fireSchedule: async (scene) => {
    const { timing } = await scheduled(scene)
    await scene.worker('w', 1)
    const dueAt = scene.now + 1_000
    const runs = [dueAt, dueAt + 1_000]
    return {
      write: { kind: 'fireSchedule', name: 'often', timing, dueAt, runs, missed: 1, nextAt: dueAt + 3_000 },
      answer: { fired: true, receipts: [{ accepted: true }, { accepted: true }] },
    }
  },
  triggerSchedule: async (scene) => {
    await scheduled(scene)
    await scene.worker('w', 1)
    return { write: { kind: 'triggerSchedule', name: 'often' }, answer: { accepted: true } }
  },
  putClient: async (scene) => {
    await scene.accepted({ client: 'ada' })
    return {
      write: { kind: 'putClient', name: 'ada', credits: 5, tier: 'contracted' },
      answer: { as: 'put', client: { credits: 5, queued: 1 } },
    }
  },
  putAccessToken: async (scene) => {
    await scene.write({ kind: 'putAccessToken', name: 'old', hash: 'ab'.repeat(32), scopes: ['read'] })
    return {
      write: {
        kind: 'putAccessToken',
        name: 'ci',
        hash: 'cd'.repeat(32),
        scopes: ['submit'],
        client: 'ada',
        types: ['x'],
        expiresAt: 8.64e15,
      },
      answer: { as: 'put', token: { name: 'ci', client: 'ada', types: ['x'] } },
    }
  },
  revokeAccessToken: async (scene) => {
    await scene.write({ kind: 'putAccessToken', name: 'ci', hash: 'ab'.repeat(32), scopes: ['read'] })
    return { write: { kind: 'revokeAccessToken', name: 'ci' }, answer: { name: 'ci' } }
  },
  purchaseCredits: async (scene) => {
    await scene.accepted({ client: 'ada' })
    return {
      write: { kind: 'purchaseCredits', name: 'ada', amount: 5, key: 'order 1', note: 'invoice 7' },
      answer: { as: 'purchased', deduplicated: false, entry: { amount: 5, key: 'order 1' } },
    }
  },
  foldLedger: async (scene) => {
    for (const amount of [1, 2]) await scene.write({ kind: 'purchaseCredits', name: 'ada', amount })
    await scene.pass(10)
    return { write: { kind: 'foldLedger', until: scene.now }, answer: { folded: 3 } }
  },
  removeClient: async (scene) => {
    await scene.settle(await scene.running({ client: 'ada' }))
    return { write: { kind: 'removeClient', name: 'ada' }, answer: { as: 'removed' } }
  },
  evaluate: async (scene) => {
    const { taskId } = await busy(scene)
    await scene.write(judgement)
    return { write: { ...judgement, taskId, key: 'k' }, answer: { as: 'recorded', deduplicated: false } }
  },
  report: async (scene) => {
    await swarming(scene)
    const { leaseId } = await hold(scene, agent('third'))
    const terms = termsOf({ limits: { hard: { memoryBytes: 10 } } })
    return {
      write: { kind: 'report', leaseId, terms, sample: { memoryBytes: 11 }, heartbeat: true, progress: '1' },
      answer: { fenced: 'ok', verdict: 'hard' },
    }
  },
  scar: async (scene) => {
    const { leaseId } = await hold(scene)
    return { write: { kind: 'scar', leaseId, cause: { as: 'silent' } }, answer: 1 }
  },
  observeRoute: async (scene) => {
    const observation = { kind: 'observeRoute', route: 'work', baselineMs: 10 } as const
    await scene.write({ ...observation, latencyMs: 11 })
    return { write: { ...observation, latencyMs: 100 }, answer: { admitted: false, circuit: 'open' } }
  },
  putSwarm: async (scene) => {
    await swarming(scene)
    return { write: { kind: 'putSwarm', name: 'other', terms: swarm }, answer: { as: 'created' } }
  },
  closeSwarm: async (scene) => {
    await swarming(scene)
    return { write: { kind: 'closeSwarm', name: 's' }, answer: { closed: true, canceled: 2 } }
  },
  openPipeline: async (scene) => {
    const { leaseId } = await scene.running(costly)
    const write = {
      kind: 'openPipeline',
      leaseId,
      key: PIPELINE_KEY,
      position: 0,
      terms: pipelineTerms,
    } as const
    return { write, answer: { fenced: 'ok', as: 'open' } }
  },
  publish: async (scene) => {
    const { from, to } = await pipeline(scene)
    await scene.write({
      kind: 'receive',
      leaseId: to.leaseId,
      key: receiptKey(['x'], 0),
      position: 0,
      types: ['x'],
      max: 9,
    })
    const key = stageWaitKey('0', { for: 'events', types: ['x'] })
    await suspend(scene, to, [{ key, position: 1, kind: 'signal', name: STAGE_WAIT_NAME }])
    const write = {
      kind: 'publish',
      leaseId: from.leaseId,
      ...publication,
      key: publicationKey('x', 'next', 0),
      events: [large],
    } as const
    return { write, answer: { fenced: 'ok', as: 'published' } }
  },
  receive: async (scene) => {
    const { to } = await pipeline(scene)
    const write = {
      kind: 'receive',
      leaseId: to.leaseId,
      key: receiptKey(['x'], 0),
      position: 0,
      types: ['x'],
      max: 1,
    } as const
    return { write, answer: { fenced: 'ok', as: 'received' } }
  },
  sample: async (scene) => {
    await scene.running()
    const counts = { running: 1, started: 2, completed: 1, failed: 0, waits: [1, 1] }
    const step = { stepMs: 60_000, at: 120_000, type: 'x', lane: 'batch', queued: 3 } as const
    return { write: { kind: 'sample', samples: [{ ...step, ...counts }] }, answer: { kept: 1 } }
  },
  startChild: async (scene) => {
    const { taskId } = await supervising(scene)
    const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ ...costly, input: large })
    const write = { kind: 'startChild', taskId, id: 'late', restart: 'temporary', submission: task } as const
    return { write, answer: { as: 'started' } }
  },
  restartChild: async (scene) => {
    const { taskId, child } = await supervising(scene)
    await scene.cancel(child)
    return { write: { kind: 'restartChild', taskId, id: 'part' }, answer: { as: 'started' } }
  },
  claimTask: async (scene) => {
    await scene.worker('hand', 1, [], 0)
    const taskId = await scene.accepted({ ...costly, input: large })
    return { write: { kind: 'claimTask', taskId, workerId: 'hand' }, answer: { as: 'claimed', attempt: 1 } }
  },
  startLease: async (scene) => {
    await swarming(scene)
    const task = { ...submission({ ...agent('third'), ...costly, input: large }), profile: termsOf() }
    return { write: { kind: 'startLease', submission: task }, answer: { as: 'started' } }
  },
}
