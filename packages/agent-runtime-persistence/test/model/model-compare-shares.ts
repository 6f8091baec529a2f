import assert from 'node:assert/strict'
import { laneRank } from '@ku0/agent-runtime-core'
import type { ModelLease, ReferenceModel } from '@ku0/agent-runtime-conformance'
import { count, type Real } from './model-real.ts'

/** Every client stands where the model has it, to the millionth. */
export async function compareShares(model: ReferenceModel, { scene }: Real): Promise<void> {
  if (model.shares === undefined) return
  const number = (name: string, holds: (task: ReferenceModel['tasks'][number]) => boolean) =>
    model.tasks.filter((task) => task.account.client === name && holds(task)).length
  assert.deepEqual(
    (await scene.read({ kind: 'clients', limit: 10 })).map((it) => ({ ...it, entries: 0 })),
    [...model.shares.clients.values()]
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, credits, tier, time, spent, reserved }) => ({
        name,
        credits: credits / 1e6,
        tier,
        virtualTime: time / 1e6,
        spent: spent / 1e6,
        reserved: reserved / 1e6,
        entries: 0,
        queued: number(name, ({ state, dueAt }) => state === 'queued' && dueAt === undefined),
        running: number(name, ({ state }) => state === 'running'),
      })),
  )
  const waiting = model.tasks.filter(({ state, dueAt }) => state === 'queued' && dueAt === undefined)
  if (new Set(waiting.map(({ account }) => account.client)).size > 1) count('clients wait side by side')
}

/** A task starts: what the order of submission would not have done is the rule's. */
export function countTurn(
  model: ReferenceModel,
  { task: { sequence, lane, type, isHeld } }: ModelLease,
): void {
  if (model.shares === undefined || isHeld) return
  const waiting = model.tasks.filter(({ state, dueAt }) => state === 'queued' && dueAt === undefined)
  if (waiting.some((it) => laneRank[it.lane] < laneRank[lane])) count('lifted by waiting')
  if (waiting.some((it) => it.lane === lane && it.type === type && it.sequence < sequence))
    count('before others')
}
