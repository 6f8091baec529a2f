import { isFinal, RESERVED } from '@ku0/agent-runtime-core'
import type { Receipt, TaskContext } from '../../../src/index.ts'
import type { TestRuntime } from '../../../src/testing/index.ts'
import type { Meaning } from './meaning.ts'
import { ROOT, sentTo } from './meaning.ts'
import type { Construct } from './program.ts'

/** How often each thing happened, in all programs together: a property that nothing interesting happened in proves nothing. */
export const seen = new Map<string, number>()

export function count(what: string): void {
  seen.set(what, (seen.get(what) ?? 0) + 1)
}

/** One run of a program, through its crash to its end: what its handler was seen to do, and the world around it. */
export class Life {
  readonly test: TestRuntime
  readonly problems: string[] = []
  /** By task, in their order. */
  readonly #passes = new Map<string, Pass[]>()
  /** How often each function began: what it has done outside outlives its process. A child's are named after it, too. */
  readonly runs = new Map<string, number>()
  /** By key: the idempotency keys that its function was given. */
  readonly idempotencyKeys = new Map<string, Set<string>>()
  readonly #rejected = new Map<string, number>()
  readonly #sent = new Set<number>()
  /** Answers that an earlier pass had. */
  readonly #answers = new Set<string>()

  constructor(test: TestRuntime) {
    this.test = test
  }

  passesOf(taskId: string): readonly Pass[] {
    return this.#passes.get(taskId) ?? []
  }

  /** `task` is the program's root, or the key of a child. */
  beginPass(ctx: TaskContext, task: string) {
    const passes = this.#passes.get(ctx.taskId) ?? []
    this.#passes.set(ctx.taskId, passes)
    const nameOf = (key: string) => (task === ROOT ? key : `${key} of ${ctx.taskId}`)
    const before = passes.at(-1)
    const pass: Pass = {
      number: passes.length + 1,
      process: this.test.runtime,
      attempt: ctx.attempt,
      active: [],
      ran: new Set(),
    }
    // A crash that finds it running makes an attempt more; one that finds it waiting does not.
    if (before !== undefined && (before.attempt < pass.attempt || before.process !== pass.process))
      for (const construct of new Set(before.active)) count(`${construct}: crashed inside`)
    if (ctx.restored !== undefined) count('checkpoint: restored')
    passes.push(pass)
    const saw = (does: string, key: string) => {
      const name = nameOf(key)
      if (!pass.ran.has(key) && this.#answers.has(name)) count(`${does}: answered by a memo`)
      this.#answers.add(name)
    }
    return {
      enter: (construct: Construct) => {
        count(construct)
        pass.active.push(construct)
        return () => void pass.active.splice(pass.active.indexOf(construct), 1)
      },
      ran: (key: string, idempotencyKey: string) => {
        pass.ran.add(key)
        const name = nameOf(key)
        const keys = this.idempotencyKeys.get(name) ?? new Set()
        this.idempotencyKeys.set(name, keys.add(idempotencyKey))
        const runs = (this.runs.get(name) ?? 0) + 1
        this.runs.set(name, runs)
        return runs
      },
      hasRun: (key: string) => this.runs.has(nameOf(key)),
      doubted: () => count('given up in doubt'),
      verified: () => count('verified'),
      saw,
      /** A race or an `all` was answered; `ran`: by going through its branches. */
      decided: (does: string, key: string, ran: boolean) => {
        if (ran) pass.ran.add(key)
        saw(does, key)
      },
      wrong: (what: string) => void this.problems.push(`${task}, pass ${pass.number}: ${what}`),
    }
  }

  /** Plays the world around the program until it has ended: sends what it waits for, answers what it asks, lets time pass. */
  async play(receipt: Receipt, meaning: Meaning): Promise<unknown> {
    const { test } = this
    for (const [index, { name, value, before }] of meaning.signals.entries()) {
      if (!before) continue
      this.#sent.add(index)
      await test.runtime.signal(receipt, name, value)
    }
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const status = await test.until(receipt, ({ state }) => state === 'waiting' || isFinal(state))
      if (status.state === 'completed') return { as: 'returned', value: status.output }
      if (status.state === 'failed' && status.error.message === 'the end') return { as: 'threw' }
      if (status.state !== 'waiting') return status
      if (await this.#sendSignal(receipt, meaning, status.waits)) continue
      if (await this.#answer(receipt, meaning)) continue
      const nextMs = await this.#nextMs()
      if (nextMs === Number.POSITIVE_INFINITY) return { ...status, stuck: true }
      await test.advance(nextMs)
    }
    return { stuck: `after ${MAX_ROUNDS} rounds` }
  }

  /** In how many ms anything is due, for the children too: their ends bring their parents on. */
  async #nextMs(): Promise<number> {
    const { tasks } = await this.test.runtime.list({ limit: 1_000 })
    if (tasks.some(({ state }) => state === 'queued' || state === 'running')) return TAKEOVER_MS
    const due = tasks
      .flatMap((status) => (status.state === 'waiting' ? status.waits : []))
      .flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt]))
    return Math.max(0, Math.min(...due) - this.test.now)
  }

  async #sendSignal(
    receipt: Receipt,
    { signals }: Meaning,
    waits: readonly { readonly name?: string | undefined }[],
  ): Promise<boolean> {
    const index = signals.findIndex(
      ({ name }, place) => !this.#sent.has(place) && waits.some((wait) => wait.name === name),
    )
    const signal = signals[index]
    if (signal === undefined) return false
    this.#sent.add(index)
    await this.test.runtime.signal(receipt, signal.name, signal.value)
    return true
  }

  async #answer(receipt: Receipt, { rejections, known }: Meaning): Promise<boolean> {
    const { approvals } = await this.test.runtime.approvals.list({ task: receipt })
    for (const { approvalId, key } of approvals) {
      const desk = this.test.runtime.approvals
      if (key.startsWith(`${RESERVED}doubt/`)) {
        count('asked about a doubt')
        await desk.approve(approvalId, known.get(key.split('/').slice(3).join('/')) as object)
        return true
      }
      const planned = rejections.get(key)
      if (planned === undefined) continue
      const rejected = this.#rejected.get(key) ?? 0
      if (rejected < planned) {
        this.#rejected.set(key, rejected + 1)
        count('rejected')
        await desk.reject(approvalId, { by: 'Ada', feedback: `no ${rejected + 1}` })
      } else await desk.approve(approvalId, { value: sentTo(key) })
      return true
    }
    return false
  }
}

interface Pass {
  readonly number: number
  readonly process: unknown
  readonly attempt: number
  /** Constructs that were entered and not left. */
  readonly active: Construct[]
  /** Keys whose function began in it. */
  readonly ran: Set<string>
}

/** A process that crashed is followed by another that takes its tasks over. */
const TAKEOVER_MS = 1_000

/** More than any program takes: one that forgets what it waited for waits for ever. */
const MAX_ROUNDS = 300
