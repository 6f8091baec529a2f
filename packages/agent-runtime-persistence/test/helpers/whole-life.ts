import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  approvalName,
  dimensions,
  domainWeights,
  receiptKey,
  type Sample,
  type Scores,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { hold, Scene, type StoreSnapshot, takeSnapshot, termsOf } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { openStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from './scratch-folder.ts'
import { pipeline } from './writes-of-every-kind.ts'

export const { config } = parseExecutionConfig({
  maxInlineBytes: 1_000,
  queueDepthLimit: 8,
  batchBackpressureThreshold: 4,
  circuitOpenMs: 1_000,
  maxRejectedKept: 1,
  shares: {},
  retention: {
    completed: 'forever',
    failed: 'forever',
    canceled: 'forever',
    types: { patient: { completed: { ageMs: 1 } } },
    ledger: { ageMs: 1 },
  },
  quotaConfig: { models: { big: { maxInFlight: 1, onExceeded: 'defer' } } },
})

/**
 * A life that leaves a row in every table but those of pipelines: task 1 completed after a retry, 2 canceled, 3 running, 4 to 6 queued, 7 rejected
 * and forgotten since, 8 waiting, 9 due, 10 held by its caller, 11 of a client, 12 with a budget, 13 and 14 its children, 15 completed and
 * deleted since, 17 the probe of a route, 19 rejected.
 */
export async function live(path: string, more?: (scene: Scene) => Promise<void>): Promise<StoreSnapshot> {
  const environment = { ...createVirtualEnvironment('checked'), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
  const scene = new Scene(store, config, environment.clock)
  await scene.worker('w', 1)
  await scene.accepted({ idempotencyKey: 'k', input: JSON.stringify('x'.repeat(2_000)) })
  const claim = await scene.claim()
  await scene.step(claim, 'a', '1')
  await scene.step(claim, 'b', '2', 1)
  await scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: '1' })
  await scene.write({ kind: 'appendOutput', leaseId: claim.leaseId, chunks: ['1', '2', '3'] })
  await scene.settle(claim, { as: 'retry', error: '{}', delayMs: 0 })
  scene.free('w')
  await scene.settle(await scene.claim(), { as: 'completed', output: '"done"' })
  await scene.cancel(await scene.accepted(), 'enough')
  scene.free('w')
  await scene.accepted({ model: 'big' })
  await scene.claim()
  await scene.submitMany(2, { model: 'big' })
  await scene.accepted({ delayMs: 60_000, lane: 'batch' })
  await scene.submit({ refused: { reason: 'invalid_payload', message: 'no' } })
  const patient = await scene.running({ type: 'patient' })
  const waits = [
    { key: 'nap', position: 0, kind: 'timer', delayMs: 3_600_000 },
    { key: 'answer', position: 1, kind: 'signal', name: 'reply' },
    {
      key: 'plan',
      position: 2,
      kind: 'approval',
      name: approvalName('plan'),
      approval: {
        artifact: '1',
        mode: 'supervised',
        asked: true,
        maxRetries: 3,
        onReject: 'rerun',
        onTimeout: 'throw',
      },
    },
  ] as const
  await scene.write({ kind: 'suspend', leaseId: patient.leaseId, waits, stay: false })
  await scene.write({ kind: 'signal', taskId: patient.taskId, name: 'other', value: '1' })
  const timing = { everyMs: 1_000, anchorAt: scene.now }
  const definition = {
    timing,
    run: { type: 'tick', lane: 'batch', input: 'null' },
    catchUp: 'one',
    graceMs: 0,
    overlap: 'allow',
  } as const
  const [name, dueAt] = ['often', scene.now + 1_000]
  await scene.write({ kind: 'putSchedule', name, definition, nextAt: dueAt })
  const runs = [dueAt]
  await scene.write({ kind: 'fireSchedule', name, timing, dueAt, runs, missed: 0, nextAt: dueAt + 1_000 })
  const judgement = { domain: 'default', weights: domainWeights.default, missing: [] } as const
  for (const value of [0.8, 0.9, 0.4]) {
    const scores = Object.fromEntries(dimensions.map((dimension) => [dimension, value])) as Scores
    await scene.write({ kind: 'evaluate', agentId: 'ada', ...judgement, scores })
  }
  await scene.write({ kind: 'purchaseCredits', name: 'eve', amount: 5, key: 'order', note: 'invoice' })
  for (const amount of [1, 2]) await scene.write({ kind: 'purchaseCredits', name: 'fay', amount })
  const swarm = { route: 'work', terms: termsOf(), maxAgents: 1, sharedBudget: {}, threshold: 0.8 }
  await scene.write({ kind: 'putSwarm', name: 's', terms: swarm })
  await hold(scene, { swarm: 's', agent: 'one' })
  await payAndSpawn(scene)
  await scene.settle(await scene.running({ type: 'patient' }))
  await breakRoutes(scene)
  await scene.submit({ refused: { reason: 'invalid_payload', message: 'never' } })
  await scene.prune()
  await scene.pass(1)
  await scene.write({ kind: 'foldLedger', until: scene.now })
  await scene.write({ kind: 'purchaseCredits', name: 'fay', amount: 3 })
  await scene.write({ kind: 'sample', samples: [minute] })
  await scene.write({
    kind: 'putAccessToken',
    name: 'ci',
    hash: 'ab'.repeat(32),
    scopes: ['submit'],
    client: 'ada',
    types: ['work'],
    expiresAt: scene.now + 1,
  })
  await scene.write({ kind: 'revokeAccessToken', name: 'ci' })
  await more?.(scene)
  const snapshot = await takeSnapshot(store)
  await store.close()
  return snapshot
}

const minute: Sample = {
  stepMs: 60_000,
  at: 120_000,
  type: 'work',
  lane: 'normal',
  queued: 1,
  running: 1,
  started: 1,
  completed: 1,
  failed: 1,
  waits: [1],
}

/** A client that has paid, and a budget that a child has drawn on while another child is open. */
async function payAndSpawn(scene: Scene): Promise<void> {
  const charged = { tokens: 7, money: 0, cost: 3_000_000 }
  const paid = await scene.running({ type: 'paid', client: 'ada', cost: 2 })
  await scene.write({
    kind: 'settle',
    leaseId: paid.leaseId,
    settlement: { as: 'completed', output: 'null' },
    charged,
  })
  const budget = { limits: { tokens: 1_000 }, soft: { tokens: 900 } }
  const parent = await scene.running({ type: 'parent', budget })
  for (const [position, key] of ['one', 'two'].entries())
    await scene.write({
      kind: 'spawn',
      leaseId: parent.leaseId,
      key,
      position,
      policy: 'cancel',
      submission: { type: 'child', lane: 'normal', input: 'null' },
    })
  await scene.worker('c', 1, ['child'])
  const child = await scene.claim()
  const step = { key: 'a', position: 0, result: '1', durationMs: 1, charged }
  await scene.write({ kind: 'recordStep', leaseId: child.leaseId, ...step })
  await scene.settle(child)
}

/** A pipeline with two events, of which one was received. */
export async function publishAndReceive(scene: Scene): Promise<void> {
  const { to } = await pipeline(scene)
  const key = receiptKey(['x'], 0)
  await scene.write({ kind: 'receive', leaseId: to.leaseId, key, position: 0, types: ['x'], max: 1 })
}

/** Two routes with circuits: of one a probe is queued, the other is open. */
async function breakRoutes(scene: Scene): Promise<void> {
  const breach = { as: 'failed', kind: 'budget_exceeded', error: '{}', breach: 'hard' } as const
  await scene.settle(await scene.running({ type: 'shaky' }), breach)
  await scene.pass(config.circuitOpenMs)
  await scene.accepted({ type: 'shaky' })
  await scene.settle(await scene.running({ type: 'frail' }), breach)
}

/** What `live` left in the files of its store, by their suffix: a life takes longer than most tests of one. */
let left: ReadonlyMap<string, Buffer> | undefined

/** A closed store of the test's own that has something of everything. */
export async function lived(): Promise<string> {
  const path = join(scratchFolder(), 'it.db')
  if (left === undefined) {
    await live(path)
    const suffixes = ['', '-wal', '-anchor'].filter((suffix) => existsSync(path + suffix))
    left = new Map(suffixes.map((suffix) => [suffix, readFileSync(path + suffix)]))
  } else for (const [suffix, content] of left) writeFileSync(path + suffix, content)
  return path
}
