import assert from 'node:assert/strict'
import type { ModelTask, ReferenceModel } from '@ku0/agent-runtime-conformance'
import type fc from 'fast-check'
import { compare } from './model-compare.ts'
import { countTurn } from './model-compare-shares.ts'
import { count, type Real } from './model-real.ts'

// What the model and a store are told alike: each command does the same to both and compares what they say.

/** One command: what it does to both, and whether they say the same. */
export abstract class Command implements fc.AsyncCommand<ReferenceModel, Real> {
  check(model: Readonly<ReferenceModel>): boolean {
    return model.now > 0
  }
  abstract act(model: ReferenceModel, real: Real): Promise<void>

  async run(model: ReferenceModel, real: Real): Promise<void> {
    const leases = model.leases.length
    await this.act(model, real)
    await real.scene.idle()
    assert.deepEqual(
      real
        .takeClaims()
        .map(({ dispatch, sequence, workerId, attempt, fencingToken, expiresAt, crashes, steps }) => ({
          dispatch,
          sequence,
          workerId,
          attempt,
          fencingToken,
          expiresAt,
          crashes,
          steps,
        })),
      model.leases
        .slice(leases)
        .filter(({ worker }) => worker !== undefined)
        .map(({ dispatch, task, worker, attempt, fence, expiresAt }) => ({
          dispatch,
          sequence: task.sequence,
          workerId: worker?.workerId,
          attempt,
          fencingToken: fence,
          expiresAt,
          crashes: task.crashes,
          steps: task.recorded,
        })),
    )
    await compare(model, real)
    for (const lease of model.leases.slice(leases)) countTurn(model, lease)
    if (model.tasks.some((task) => task.state === 'queued' && model.isQuarantined(task)))
      count('suspect held')
  }

  toString(): string {
    const fields = Object.entries(this).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    return `${this.constructor.name}(${fields.join(', ')})`
  }
}

/** One of a list, by a number that says which: mostly a live one, at times any, now and then none, which stands for a stranger. */
export function pick<T>(all: readonly T[], which: number, isLive: (it: T) => boolean): T | undefined {
  if (which > 20) return undefined
  const live = all.filter(isLive)
  const list = which < 13 && live.length > 0 ? live : all
  return list[which % list.length]
}
export const leaseOf = (model: ReferenceModel, which: number) =>
  pick(model.leases, which, ({ state }) => state === 'running')

/** Where a step or a child is called, by its key: always at the same place, so that it is told what comes before it. */
export function placeOf(key: string): number {
  const place = CALLS.indexOf(key)
  return place < 0 ? 0 : 2 * place
}

const CALLS = ['s3', 's1', 'c1', 's2', 'c2', '\ud800', 'c3', 's4']

/** What a rejection may make void, as far as it is of steps. */
export function memosOf(task: ModelTask | undefined): number {
  return task === undefined ? 0 : task.memos.size + task.intents.length
}
