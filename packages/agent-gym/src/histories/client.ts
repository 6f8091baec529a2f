import { setTimeout as sleep } from 'node:timers/promises'
import { defineTask, type Runtime, RuntimeError, TaskCanceled, type TaskDefinition } from '@ku0/agent-runtime'
import { encode } from '@ku0/agent-runtime-core'
import { z } from 'zod'
import type { SeededRandom } from '../work/random.ts'
import type { End, Sight } from './operation.ts'
import type { Named, Recorder } from './recorder.ts'

/** What a task of a history does: steps whose results tell who ran them, signals between them if it is odd. */
export function historyTask(recorder: Recorder, process: string): TaskDefinition {
  const input = z.object({ n: z.int(), variant: z.int() })
  return defineTask({ type: 'history', input }, async (ctx, { n }) => {
    const { taskId } = ctx
    const step = (key: string, ms: number) =>
      ctx.step(key, async () => {
        await sleep(ms)
        return `${key} by ${process} under ${ctx.fencingToken}`
      })
    await step('one', 20 + ((n * 13) % 50))
    if (n % 2 === 1) {
      for (const key of ['first', 'second', 'third']) {
        const asked = recorder.called({ taskId }, { call: 'take', key })
        const value = await ctx.waitForSignal<string>(key, { signal: 'note' })
        recorder.answered(asked, { value })
        await step(`after ${key}`, (n * 17) % 60)
      }
    }
    await step('last', 20 + ((n * 7) % 50))
    if (n % 10 === 9) throw new Error('as it was meant to')
    return `by ${process} under ${ctx.fencingToken}`
  })
}

/** Whoever uses a store from outside, by way of one runtime; every call is recorded. Which tasks there are is known beforehand. */
export class HistoryClient {
  readonly #runtime: Runtime
  readonly #recorder: Recorder
  readonly #random: SeededRandom
  readonly #ids = new Map<number, string>()
  #signals = 0
  readonly #name: string

  constructor(runtime: Runtime, recorder: Recorder, random: SeededRandom, name: string) {
    this.#runtime = runtime
    this.#recorder = recorder
    this.#random = random
    this.#name = name
  }

  /** Something or other to one of the tasks. */
  async act(n: number): Promise<void> {
    const random = this.#random
    const taskId = this.#idOf(n)
    const roll = random.int(0, 19)
    if (taskId === undefined || roll < 4) await this.submit(n, random.int(0, 9) === 0 ? 1 : 0)
    else if (roll < 14) await this.status(taskId)
    else if (roll < 15) {
      // The second may find the first unread.
      await this.signal(taskId)
      await this.signal(taskId)
    } else if (roll < 16) await this.cancel(taskId)
    else if (roll < 17) await this.result(taskId, random.int(20, 80))
    else await this.follow(taskId, random.int(5, 40))
  }

  async submit(n: number, variant: number): Promise<void> {
    const named = nameOf(n)
    const value = { n, variant }
    const by = named.taskId === undefined ? 'key' : 'id'
    const asked = this.#recorder.called(named, { call: 'submit', by, input: encode(value, what) })
    const options = named.taskId === undefined ? { idempotencyKey: named.key } : { taskId: named.taskId }
    try {
      const receipt = await this.#runtime.submit('history', value, options)
      this.#ids.set(n, receipt.taskId)
      const answer = !receipt.accepted ? receipt.reason : receipt.deduplicated ? 'again' : 'accepted'
      this.#recorder.answered(asked, answer, receipt.taskId)
    } catch (error) {
      const taskId = (error as RuntimeError).details?.['taskId']
      if (isCode(error, 'idempotency_conflict', 'already_exists') && typeof taskId === 'string') {
        this.#ids.set(n, taskId)
        this.#recorder.answered(asked, 'refused', taskId)
      } else this.#recorder.failed(asked, error)
    }
  }

  async status(taskId: string): Promise<void> {
    await this.#ask(taskId, { call: 'status' }, async (): Promise<Sight> => {
      const seen = await this.#runtime.status(taskId)
      if (seen === undefined || seen.state === 'rejected') return { state: 'absent' }
      const { state, attempt, steps } = seen
      if (state === 'running') return { state, attempt, steps, token: seen.lease.fencingToken }
      if (state === 'queued' || state === 'waiting') return { state: 'open', attempt, steps }
      return {
        attempt,
        steps,
        ...(state === 'completed' ? { state, output: encode(seen.output, what) } : { state }),
      }
    })
  }

  async signal(taskId: string): Promise<void> {
    this.#signals += 1
    const value = `${this.#name} ${this.#signals}`
    await this.#ask(taskId, { call: 'signal', value }, async () => {
      try {
        await this.#runtime.signal(taskId, 'note', value)
        return true
      } catch (error) {
        if (isCode(error, 'not_found', 'invalid_argument')) return false
        throw error
      }
    })
  }

  async cancel(taskId: string): Promise<void> {
    await this.#ask(taskId, { call: 'cancel' }, () => this.#runtime.cancel(taskId))
  }

  async result(taskId: string, timeoutMs: number): Promise<void> {
    await this.#ask(taskId, { call: 'result' }, async (): Promise<End | undefined> => {
      try {
        return { state: 'completed', output: encode(await this.#runtime.result(taskId, { timeoutMs }), what) }
      } catch (error) {
        if (error instanceof TaskCanceled) return { state: 'canceled' }
        if (isCode(error, 'task_failed')) return { state: 'failed' }
        return undefined
      }
    })
  }

  /** Reads events for a while. */
  async follow(taskId: string, forMs: number): Promise<void> {
    const events: string[] = []
    try {
      const signal = AbortSignal.timeout(forMs)
      for await (const { seq, type, hash } of this.#runtime.events(taskId, { signal }))
        events.push(`${seq} ${type} ${hash ?? ''}`)
    } catch (error) {
      if (!isCode(error, 'not_found') && (error as Error).name !== 'TimeoutError') throw error
    }
    if (events.length > 0) this.#recorder.followed(taskId, events)
  }

  /** Records a call; what it threw, or answered with undefined, is no answer. */
  async #ask(
    taskId: string,
    deed: Parameters<Recorder['called']>[1],
    call: () => Promise<unknown>,
  ): Promise<void> {
    const asked = this.#recorder.called({ taskId }, deed)
    try {
      const answer = await call()
      if (answer !== undefined) this.#recorder.answered(asked, answer)
    } catch (error) {
      this.#recorder.failed(asked, error)
    }
  }

  #idOf(n: number): string | undefined {
    return nameOf(n).taskId ?? this.#ids.get(n)
  }
}

/** A third of the tasks have ids of their callers' own, the others idempotency keys. */
function nameOf(
  n: number,
): { readonly taskId: string } | (Named & { readonly key: string; readonly taskId?: undefined }) {
  return n % 3 === 0 ? { taskId: `own-${n}` } : { key: `key-${n}` }
}

function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof RuntimeError && codes.includes(error.code)
}

const what = { what: 'a value of a history' }
