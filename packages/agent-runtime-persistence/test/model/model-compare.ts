import assert from 'node:assert/strict'
import { idempotencyKey, type TaskRecord } from '@ku0/agent-runtime-core'
import {
  BUDGET_ERROR,
  countedKeys,
  doubtsOf,
  holdOf,
  inOrder,
  type ModelEffect,
  type ModelTask,
  pendingApprovals,
  type ReferenceModel,
  rejectionsSinceApproval,
  startsOf,
  type StoreSnapshot,
  takeSnapshot,
  violationsIn,
} from '@ku0/agent-runtime-conformance'
import { compareBudgets } from './model-compare-budgets.ts'
import type { Real } from './model-real.ts'
import { compareShares } from './model-compare-shares.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

/** The projected state of both is the same, and the store breaks no invariant. */
export async function compare(model: ReferenceModel, real: Real): Promise<void> {
  const isSearched = real.commands++ % 10 === 0
  const { stats, tasks } = await (isSearched ? search(real) : look(real))
  assert.deepEqual(
    {
      depth: stats.depth.interactive + stats.depth.normal + stats.depth.batch,
      delayed: stats.delayed,
      running: stats.running,
      waiting: stats.waiting,
      rejected: stats.totals.rejected,
    },
    {
      depth: model.depth,
      delayed: model.delayed,
      running: model.leases.filter(({ state }) => state === 'running').length,
      waiting: model.tasks.filter(({ state }) => state === 'waiting').length,
      rejected: model.rejected,
    },
  )
  const accepted = tasks.filter(({ record }) => record.state !== 'rejected')
  assert.deepEqual(
    accepted.map(({ record, events, leases }) => ({
      sequence: record.sequence,
      lane: record.lane,
      state: record.state,
      attempt: record.attempt,
      crashes: record.crashes,
      dueAt: record.state === 'queued' ? record.dueAt : undefined,
      lease: record.state === 'running' ? [record.lease.dispatch, record.lease.expiresAt] : undefined,
      told: withoutPartial(toldBy(record)),
      parked: parkedIn(record),
      ends: leases.map(({ dispatch, status, endReason }) => [dispatch, status, endReason]),
      open: record.state === 'waiting' ? record.waits.map(({ key, dueAt }) => [key, dueAt]) : undefined,
      events: events.map(({ type }) => type),
    })),
    model.tasks.map((task) => ({
      sequence: task.sequence,
      lane: task.lane,
      state: task.state,
      attempt: task.attempt,
      crashes: task.crashes,
      dueAt: task.dueAt,
      lease: task.lease === undefined ? undefined : [task.lease.dispatch, task.lease.expiresAt],
      told: task.told,
      parked: task.parked,
      ends: model.leases
        .filter((lease) => lease.task === task)
        .map(({ dispatch, state, endReason }) => [dispatch, state, endReason]),
      open: task.state === 'waiting' ? inOrder(task.waits).map(({ key, dueAt }) => [key, dueAt]) : undefined,
      events: task.events,
    })),
  )
  for (const task of model.tasks) await compareMemos(model, real, task)
  await compareSchedules(model, real)
  await compareEvaluations(model, real)
  await compareBudgets(model, real)
  await compareQuotas(model, real)
  await compareCircuits(model, real)
  await compareShares(model, real)
  assert.deepEqual(real.scene.failures, [])
}

/** A route that nothing is to be remembered of has no circuit in either. */
async function compareCircuits(model: ReferenceModel, { scene, config }: Real): Promise<void> {
  const routes = await scene.read({ kind: 'routes' })
  const open = routes.filter(({ circuit }) => circuit !== 'closed')
  const rests = (openedAt: number) => model.now - openedAt < config.circuitOpenMs
  assert.deepEqual(
    Object.fromEntries(open.map(({ route, circuit }) => [route, circuit])),
    Object.fromEntries(
      [...model.circuits].map(([route, { probe, openedAt }]) => [
        route,
        probe === undefined && rests(openedAt) ? 'open' : 'half_open',
      ]),
    ),
  )
  assert.deepEqual(
    routes.filter(({ healthy, circuit }) => healthy === (circuit !== 'closed')),
    [],
  )
}

/** Everything that there is, in which no invariant is broken. */
async function search(real: Real): Promise<StoreSnapshot> {
  const snapshot = await takeSnapshot(real.scene.store)
  const it = {
    config: real.config,
    digest: nodeDigest,
    ...(real.before === undefined ? {} : { before: real.before }),
  }
  assert.deepEqual(violationsIn(snapshot, it), [])
  real.before = snapshot
  return snapshot
}

/** What is compared, and no more: a search takes most of the time of a life. */
async function look({ scene: { store } }: Real) {
  const page = await store.read({ kind: 'tasks', filter: { limit: 1_000 } })
  const tasks = page.tasks.toReversed().map(async (record) => {
    const { taskId } = record
    const events = (await store.read({ kind: 'events', taskId, after: 0, limit: 1_000_000 })) ?? []
    return { record, events, leases: await store.read({ kind: 'leases', taskId }) }
  })
  return { tasks: await Promise.all(tasks), stats: await store.read({ kind: 'stats' }) }
}

function parkedIn(record: TaskRecord): ModelTask['parked'] {
  if (record.state !== 'waiting') return false
  const { waitingFor } = record
  return waitingFor === 'divergence' || waitingFor === 'budget' ? waitingFor : false
}

/** The model does not say what a task had done by the time that its budget was exceeded. */
function withoutPartial(told: string | undefined): string | undefined {
  return told?.endsWith('"kind":"budget_exceeded","state":"failed"}') === true ? BUDGET_END : told
}

const BUDGET_END = `{"error":${BUDGET_ERROR},"kind":"budget_exceeded","state":"failed"}`

/** How a task ended, as its parent would hear it. */
function toldBy(record: TaskRecord): string | undefined {
  switch (record.state) {
    case 'completed':
      return `{"output":${record.output},"state":"completed"}`
    case 'failed':
      return `{"error":${record.error},"kind":"${record.kind}","state":"failed"}`
    case 'canceled':
      return '{"state":"canceled"}'
    default:
      return undefined
  }
}

/** What a pass would find, and what a human would. */
async function compareMemos(model: ReferenceModel, { scene, taskIds }: Real, task: ModelTask): Promise<void> {
  const taskId = taskIds.get(task.sequence) ?? ''
  const memos = await scene.store.read({ kind: 'memos', taskId })
  assert.deepEqual(
    {
      steps: memos.steps.map(({ key, result, seq }) => [key, result, seq]),
      waits: memos.waits.map(({ key, outcome, value, seq }) => [key, outcome, withoutPartial(value), seq]),
      open: memos.open.map(({ key, dueAt }) => [key, dueAt]),
      inDoubt: memos.inDoubt
        .map(({ key, starts }) => `${starts} ${key}`)
        .toSorted((a, b) => (a < b ? -1 : 1)),
      effects: memos.effectKeys.map(({ key, effectKey }) => `${effectKey} ${key}`).toSorted(),
      children: memos.children.map((it) => [it.key, it.taskId, it.policy, it.seq]),
      rejections: memos.rejections.map(({ key, since, seq, value }) => ({ key, since, seq, value })),
    },
    {
      steps: [...task.memos].map(([key, { value, seq }]) => [key, value, seq]),
      waits: task.ended.map(({ key, outcome, value, seq }) => [key, outcome, value, seq]),
      open: inOrder(task.waits).map(({ key, dueAt }) => [key, dueAt]),
      inDoubt: doubtsOf(task)
        .map(({ key, starts }) => `${starts} ${key}`)
        .toSorted((a, b) => (a < b ? -1 : 1)),
      effects: startsOf(task)
        .flatMap(({ key, effect }) =>
          effect === undefined ? [] : `${effectKeyOf(key, effect, taskIds.get(effect.task.sequence))} ${key}`,
        )
        .toSorted(),
      children: [...task.children.values()].map((it) => [
        it.key,
        taskIds.get(it.task.sequence),
        it.policy,
        it.seq,
      ]),
      rejections: task.rejections,
    },
  )
  const { approvals } = await scene.store.read({ kind: 'approvals', taskId, limit: 100 })
  assert.deepEqual(
    approvals.map(({ key, request, dueAt, rejections }) => [key, request, dueAt, rejections]),
    // One whose patience is over takes no verdict any more, and is not listed.
    pendingApprovals(task)
      .filter(({ dueAt }) => (dueAt ?? model.now) >= model.now)
      .map(({ key, terms, dueAt }) => [key, terms?.request, dueAt, rejectionsSinceApproval(task)]),
  )
}

/** By which whoever is called knows the step again. Source: `docs/semantics.md 4.6`. */
function effectKeyOf(key: string, { generation }: ModelEffect, taskId = ''): string {
  return idempotencyKey(nodeDigest, taskId, key, null, generation)
}

async function compareSchedules(model: ReferenceModel, real: Real): Promise<void> {
  assert.deepEqual(
    (await real.scene.read({ kind: 'schedules', filter: {} })).map((it) => [
      it.name,
      it.nextAt,
      it.paused,
      it.run.input,
      it.runs,
      it.rejected,
      it.skipped,
    ]),
    [...model.schedules.values()]
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((it) => [it.name, it.nextAt, it.paused, it.input, it.runs, it.rejected, it.skipped]),
  )
}

/** Where each agent stands is the same in both, and what is kept of its evaluations. */
async function compareEvaluations(model: ReferenceModel, { scene }: Real): Promise<void> {
  for (const [agentId, agent] of model.agents) {
    const standing = await scene.read({ kind: 'reputation', agentId })
    assert.equal(standing?.evaluations, agent.count)
    assertNear(standing?.reputation, agent.reputation)
    assertNear(standing?.average.cost, agent.sum / agent.count)
    const kept = await scene.read({ kind: 'evaluations', agentId, limit: 100 })
    assert.deepEqual(
      kept.map(({ seq, key }) => [seq, key]),
      agent.kept.toReversed().map(({ seq, key }) => [seq, key]),
    )
  }
}

/** The model adds up in another order. */
function assertNear(given: number | undefined, expected: number): void {
  assert.ok(Math.abs((given ?? Number.NaN) - expected) < 1e-9, `${given} is ${expected}`)
}

/** Every counter of the store is the model's. */
async function compareQuotas(model: ReferenceModel, real: Real): Promise<void> {
  const { quotas } = await real.scene.read({ kind: 'stats' })
  const windowed = new Set(quotas.flatMap(({ key, window }) => (window === undefined ? [] : [key])))
  const keys = new Set([...quotas.map(({ key }) => key), ...countedKeys(model.tasks, model.blocked)])
  assert.deepEqual(
    quotas
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ key, queued, running, window, blockedUntil }) => [
        key,
        queued,
        running,
        window?.tasks,
        window?.tokens,
        blockedUntil,
      ]),
    [...keys].toSorted().map((key) => {
      const { queued, running, tasks, tokens } = holdOf(model.tasks, key, model.now)
      const until = model.blocked.get(key) ?? 0
      const window = windowed.has(key) ? [tasks, tokens] : [undefined, undefined]
      return [key, queued, running, ...window, until > model.now ? until : undefined]
    }),
  )
}
