import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type BudgetSum, type Claim, type ExecutionStore, type Submission } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment, VirtualClock } from '@ku0/agent-runtime-core/testing'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { connectionOf } from '../helpers/connection-of.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'

/** Two stores on one file in one virtual boot. */
async function twoStores(): Promise<[Scene, Scene]> {
  const path = join(scratchFolder(), 'store.db')
  const clock = new VirtualClock()
  const { config } = parseExecutionConfig({})
  onTestFinished(() => assertClosedStore(path, config))
  const open = async (seed: string) => {
    const environment = { ...createVirtualEnvironment(seed), digest: nodeDigest, clock, timers: clock }
    const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
    onTestFinished(() => store.close())
    return new Scene(store, config, clock, { digest: nodeDigest })
  }
  const pair: [Scene, Scene] = [await open('first'), await open('second')]
  onTestFinished(async () => {
    for (const scene of pair) assert.deepEqual(await scene.violations(), [])
  })
  await pair[0].pass(1_000)
  return pair
}

/** A parent that runs in the first process, with children that run in either. */
async function family(limits: BudgetSum, soft: BudgetSum = {}, count = 6) {
  const [a, b] = await twoStores()
  const submission: Partial<Submission> = { budget: { limits, soft } }
  const parent = await a.running(submission)
  for (let nth = 0; nth < count; nth += 1)
    await a.write({
      kind: 'spawn',
      leaseId: parent.leaseId,
      key: `child ${nth}`,
      position: nth,
      policy: 'cancel',
      submission: { type: 'child', lane: 'normal', input: 'null' },
    })
  await Promise.all([a.worker('a', count / 2, ['child']), b.worker('b', count / 2, ['child'])])
  const children: { readonly scene: Scene; readonly claim: Claim }[] = []
  for (let nth = 0; nth < count / 2; nth += 1)
    children.push({ scene: a, claim: await a.claim() }, { scene: b, claim: await b.claim() })
  return { a, b, parent, children }
}

const spend = (scene: Scene, { leaseId }: Claim, key: string, tokens: number) =>
  scene.write({
    kind: 'recordStep',
    leaseId,
    key,
    position: 0,
    durationMs: 1,
    result: 'null',
    charged: { tokens, money: 0, cost: 0 },
  })

test('11.5 charges of several processes add up exactly', async () => {
  const { a, b, parent, children } = await family({ tokens: 10_000 })
  for (let round = 0; round < 20; round += 1)
    await Promise.all(
      children.map(async ({ scene, claim }, nth) => {
        expect(await spend(scene, claim, `${round}`, nth + 1)).toEqual({ fenced: 'ok' })
      }),
    )
  for (const scene of [a, b])
    expect(await scene.read({ kind: 'budget', taskId: parent.taskId })).toMatchObject({
      used: { tokens: 20 * 21, steps: 120 },
      children: { tokens: 20 * 21 },
    })
})

test('11.5 a line that is crossed in one process ends the tree in the other, once', async () => {
  const { a, b, parent, children } = await family({ tokens: 100 })
  const outcomes = await Promise.all(children.map(({ scene, claim }) => spend(scene, claim, 'x', 30)))
  // Each recorded what it had spent, or came too late.
  const recorded = outcomes.filter(({ fenced }) => fenced === 'ok').length
  expect(await a.task(parent.taskId)).toMatchObject({ state: 'failed', kind: 'budget_exceeded' })
  expect(await a.read({ kind: 'budget', taskId: parent.taskId })).toMatchObject({
    used: { tokens: recorded * 30, steps: recorded },
  })
  expect(recorded).toBeGreaterThanOrEqual(4)
  await a.pass(100)
  const told = [...a.notices, ...b.notices].map(({ verdict }) => verdict)
  expect(told.toSorted()).toEqual([...children.map(() => 'canceled'), 'failed'])
})

test('11.5 the holder in another process learns that its task was failed', async () => {
  const { a, b, parent } = await family({ tokens: 100 }, {}, 2)
  const child = b.claims[0] as Claim
  await spend(b, child, 'x', 101)
  await a.pass(100)
  expect(a.notices.find(({ leaseId }) => leaseId === parent.leaseId)).toMatchObject({ verdict: 'failed' })
})

test('11.5 an answer in one process puts back what is parked in both', async () => {
  const { a, b, parent, children } = await family({ tokens: 1_000 }, { tokens: 50 })
  for (const { scene, claim } of children) {
    await spend(scene, claim, 'x', 50)
    await scene.release(claim)
  }
  await a.release(parent)
  const answer = {
    kind: 'answerBudget',
    taskId: parent.taskId,
    answer: { as: 'continue', raise: {} },
  } as const
  const answers = await Promise.all([a.write(answer), b.write(answer)])
  expect(answers.map(({ as }) => as).toSorted()).toEqual(['answered', 'not_asked'])
  expect(answers.find(({ as }) => as === 'answered')).toMatchObject({ resumed: 7 })
  expect(await b.stats()).toMatchObject({ waiting: 0 })
})

test('11.5 wall time that ends while its process is gone is found by another', async () => {
  const { a, b, parent } = await family({ wallMs: 5_000 }, {}, 2)
  await a.store.close()
  await b.pass(10_000)
  expect(await b.task(parent.taskId)).toMatchObject({ state: 'failed', kind: 'budget_exceeded' })
})

test('11.5 tasks without a budget ask nothing of its table, and write nothing to it', async () => {
  const environment = { ...createVirtualEnvironment('plain'), digest: nodeDigest }
  const { config } = parseExecutionConfig({})
  const store: ExecutionStore = await openStore('sqlite::memory:', { config, environment })
  onTestFinished(() => store.close())
  const scene = new Scene(store, config, environment.clock, { digest: nodeDigest })
  const db = connectionOf(store)
  const claim = await scene.running()
  // Whatever touches the table now fails.
  db.exec('DROP TABLE budget')
  await spend(scene, claim, 'x', 5)
  expect(await scene.settle(claim)).toBe('ok')
  scene.free(claim.workerId)
  await scene.accepted()
  expect(await scene.settle(await scene.claim())).toBe('ok')
})
