import { isFinal, RESERVED } from '@ku0/agent-runtime-core'
import type { Receipt, TaskContext } from '../../../src/index.ts'
import type { TestRuntime } from '../../../src/testing/index.ts'
import type { Meaning } from './meaning.ts'
import { sentTo } from './meaning.ts'
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
  readonly passes: Pass[] = []
  /** How often each function began: what it has done outside outlives its process. */
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

  beginPass(ctx: TaskContext) {
    const before = this.passes.at(-1)
    const pass: Pass = {
      number: this.passes.length + 1,
      process: this.test.runtime,
      attempt: ctx.attempt,
      active: [],
      ran: new Set(),
    }
    // A crash that finds it running makes an attempt more; one that finds it waiting does not.
    if (before !== undefined && (before.attempt < pass.attempt || before.process !== pass.process))
      for (const construct of new Set(before.active)) count(`${construct}: crashed inside`)
    if (ctx.restored !== undefined) count('checkpoint: restored')
    this.passes.push(pass)
    const saw = (does: string, key: string) => {
      if (!pass.ran.has(key) && this.#answers.has(key)) count(`${does}: answered by a memo`)
      this.#answers.add(key)
    }
    return {
      enter: (construct: Construct) => {
        count(construct)
        pass.active.push(construct)
        return () => void pass.active.splice(pass.active.indexOf(construct), 1)
      },
      ran: (key: string, idempotencyKey: string) => {
        pass.ran.add(key)
        const keys = this.idempotencyKeys.get(key) ?? new Set()
        this.idempotencyKeys.set(key, keys.add(idempotencyKey))
        const runs = (this.runs.get(key) ?? 0) + 1
        this.runs.set(key, runs)
        return runs
      },
      hasRun: (key: string) => this.runs.has(key),
      doubted: () => count('given up in doubt'),
      verified: () => count('verified'),
      saw,
      /** A race or an `all` was answered; `ran`: by going through its branches. */
      decided: (does: string, key: string, ran: boolean) => {
        if (ran) pass.ran.add(key)
        saw(does, key)
      },
      wrong: (what: string) => void this.problems.push(`pass ${pass.number}: ${what}`),
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
      const due = status.waits.flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt]))
      if (due.length === 0) return { ...status, stuck: true }
      await test.advance(Math.max(0, Math.min(...due) - test.now))
    }
    return { stuck: `after ${MAX_ROUNDS} rounds` }
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

/** More than any program takes: one that forgets what it waited for waits for ever. */
const MAX_ROUNDS = 300
