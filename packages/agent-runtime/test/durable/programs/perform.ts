import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import {
  ApprovalRejected,
  defineTask,
  StepInDoubt,
  type TaskContext,
  type TaskDefinition,
  TaskFailed,
  TimeoutError,
} from '../../../src/index.ts'
import type { Life } from './life.ts'
import { type Meaning, resultOf, ROOT, sentTo } from './meaning.ts'
import type { ChildNode, LateNode, Loser, Node, Program } from './program.ts'

/** The task types of a program: itself, and its children. What their handlers see and do is told to the life at hand. */
export function tasksOf(program: Program, { children }: Meaning, life: () => Life) {
  const child: TaskDefinition<'child', string> = defineTask(
    { type: 'child', input: z.string(), errors: [Planned] },
    (ctx, key) => {
      const meant = children.get(key)
      if (meant === undefined) throw new Error(`no child '${key}' is meant`)
      return new Performance(false, life().beginPass(ctx, key), child).asChild(ctx, meant.node, key)
    },
  )
  const root = defineTask({ type: 'program', input: z.null(), errors: [Planned] }, async (ctx) => {
    const pass = life().beginPass(ctx, ROOT)
    const value = await new Performance(program.straight, pass, child).go(ctx, program.root, ROOT)
    if (program.end === 'throws') throw new Error('the end')
    return value
  })
  return { root, child }
}

type Pass = ReturnType<Life['beginPass']>
type Act<D extends Node['does']> = Extract<Node, { does: D }>

class Performance {
  readonly #straight: boolean
  readonly #pass: Pass
  readonly #child: TaskDefinition<'child', string>
  #mails = 0

  constructor(straight: boolean, pass: Pass, child: TaskDefinition<'child', string>) {
    this.#straight = straight
    this.#pass = pass
    this.#child = child
  }

  async asChild(ctx: TaskContext, { how, parts, throws }: ChildNode, key: string): Promise<unknown> {
    const values = await inOrder(parts, (part, index) => this.go(ctx, part, `${key}.${index}`))
    if (how === 'left' || how === 'lost') await ctx.sleep(`${key} for long`, LONG_MS)
    if (throws) throw new Planned(`${key} threw`)
    return values
  }

  async go(ctx: TaskContext, node: Node, key: string): Promise<unknown> {
    const leave = this.#pass.enter(node.does)
    try {
      return await this.#act(ctx, node, key)
    } finally {
      leave()
    }
  }

  #act(ctx: TaskContext, node: Node, key: string): unknown {
    switch (node.does) {
      case 'step':
        return this.#step(ctx, node, key)
      case 'flaky':
        return this.#flaky(ctx, node, key)
      case 'hopeless':
      case 'broken':
        return caught(() => this.#broken(ctx, node, key))
      case 'doubtful':
        return this.#doubtful(ctx, node, key)
      case 'sleep':
        return this.#answered('sleep', key, undefined, ctx.sleep(key, node.ms))
      case 'signal':
        return caught(() => this.#signal(ctx, node, key))
      case 'mail':
        this.#mails += 1
        return this.#answered('mail', key, this.#mails, ctx.waitForSignal(key, { signal: 'mail' }))
      case 'approval':
        return caught(() => this.#approval(ctx, node, key))
      case 'child':
        return this.#spawn(ctx, node, key)
      case 'patched':
        return this.#answered('patched', key, true, ctx.patched(key))
      case 'checkpoint':
        return ctx.checkpoint({ key }).then(() => null)
      case 'emit':
        return ctx.emit({ key }).then(() => null)
      case 'sequence':
        return inOrder(node.parts, (part, index) => this.go(ctx, part, `${key}.${index}`))
      case 'together':
        return Promise.all(node.parts.map((part, index) => this.go(ctx, part, `${key}.${index}`)))
      case 'all':
        return this.#all(ctx, node, key)
      case 'race':
        return caught(() => this.#race(ctx, node, key))
      case 'late':
        return caught(() => this.#late(ctx, node, key))
      case 'loop':
        return inOrder(Array.from({ length: node.times }), (_, index) =>
          this.go(ctx, node.body, `${key}.${index}`),
        )
      case 'branch':
        return this.#branch(ctx, node, key)
      case 'caught':
        return caught(async () => {
          await this.go(ctx, node.part, `${key}.p`)
          throw new Planned(`${key} threw`)
        })
    }
  }

  async #step(ctx: TaskContext, { value, named, later }: Act<'step'>, key: string): Promise<unknown> {
    const straight = this.#straight
    const result = named ? (straight ? { key, heard: ctx.feedback.length } : [key, value]) : value
    const answer = await ctx.step(key, ({ idempotencyKey }) => {
      this.#pass.ran(key, idempotencyKey)
      return later ? soon(() => result) : result
    })
    // What it heard of is that of the pass in which it ran.
    const expected =
      named && straight ? { key, heard: (answer as { heard?: unknown } | undefined)?.heard } : result
    return this.#see('step', key, expected, answer)
  }

  #flaky(ctx: TaskContext, { failures, backoffMs }: Act<'flaky'>, key: string): Promise<unknown> {
    const backoff = { initialMs: backoffMs, jitter: 0 }
    const tried = ctx.step(key, { retry: { attempts: 5, backoff } }, ({ idempotencyKey }) => {
      if (this.#pass.ran(key, idempotencyKey) <= failures) throw new Planned(`${key} is not there yet`)
      return resultOf(key)
    })
    return this.#answered('flaky', key, resultOf(key), tried)
  }

  #broken(ctx: TaskContext, node: Act<'broken' | 'hopeless'>, key: string): Promise<unknown> {
    const fail = () => {
      throw new Planned(`${key} threw`)
    }
    if (node.does === 'broken') return ctx.step(key, () => (node.later ? soon(fail) : fail()))
    return ctx.step(key, { retry: { attempts: node.attempts, backoff: { initialMs: 100, jitter: 0 } } }, fail)
  }

  async #doubtful(ctx: TaskContext, { policy, known }: Act<'doubtful'>, key: string): Promise<unknown> {
    const verify = () => {
      this.#pass.verified()
      const done = known && this.#pass.hasRun(key)
      return done ? { done, result: resultOf(key) } : { done: false as const }
    }
    try {
      const run = ctx.step(
        key,
        { inDoubt: policy, ...(policy === 'verify' ? { verify } : {}) },
        ({ idempotencyKey }) => {
          this.#pass.ran(key, idempotencyKey)
          return soon(() => resultOf(key))
        },
      )
      return await this.#answered('doubtful', key, resultOf(key), run)
    } catch (error) {
      if (!(error instanceof StepInDoubt)) throw error
      this.#pass.doubted()
      return resultOf(key)
    }
  }

  #signal(ctx: TaskContext, { sent, patienceMs }: Act<'signal'>, key: string): Promise<unknown> {
    const timeoutMs = sent === 'never' ? 1_000 : patienceMs === 1_000 ? 864_000_000 : patienceMs
    const wait = ctx.waitForSignal(key, timeoutMs === 0 ? {} : { timeoutMs })
    return this.#answered('signal', key, sentTo(key), wait)
  }

  async #approval(ctx: TaskContext, { how }: Act<'approval'>, key: string): Promise<unknown> {
    const options = {
      rerun: {},
      throw: { onReject: 'throw' },
      timeout: { timeoutMs: 60_000, onTimeout: 'approve' },
      'at once': { timeoutMs: 0, onTimeout: 'approve' },
      'spot check': { mode: 'spot_check' },
    } as const
    const { value } = await ctx.requestApproval(key, { key }, { maxRetries: 9, ...options[how] })
    const isNoted = how === 'rerun' || how === 'throw'
    this.#see('approval', key, isNoted ? sentTo(key) : value, value)
    return { approved: key }
  }

  async #spawn(ctx: TaskContext, { how, meanwhile }: ChildNode, key: string): Promise<unknown> {
    const result = (answer: Promise<unknown>) =>
      caught(async () => {
        const value = await answer
        this.#pass.saw('child', key)
        return value
      })
    switch (how) {
      case 'called':
        return result(ctx.call(key, this.#child, key))
      case 'awaited': {
        const child = await ctx.spawn(key, this.#child, key)
        const value = await this.go(ctx, meanwhile, `${key}.m`)
        return [value, await result(child.result())]
      }
      case 'left':
      case 'lost':
        await ctx.spawn(key, this.#child, key)
        return null
    }
  }

  async #all(ctx: TaskContext, { parts, limited }: Act<'all'>, key: string): Promise<unknown> {
    let ran = false
    const branches = parts.map(
      (part, index) =>
        [
          `b${index}`,
          (branch: TaskContext) => {
            ran = true
            return this.go(branch, part, `${key}.${index}`)
          },
        ] as const,
    )
    const answer = await ctx.all(key, Object.fromEntries(branches), limitOf(limited))
    this.#pass.decided('all', key, ran)
    return answer
  }

  async #race(ctx: TaskContext, node: Act<'race'>, key: string): Promise<unknown> {
    let ran = false
    const w = async (branch: TaskContext) => {
      ran = true
      const value = await this.go(branch, node.winner, `${key}.w`)
      if (node.throws) throw new Planned(`${key} threw`)
      return value
    }
    const l = (branch: TaskContext) => this.#lose(branch, loserOf(node), `${key}.l`)
    const answer = await ctx.race(key, node.first ? { w, l } : { l, w }, limitOf(node.limited))
    this.#pass.decided('race', key, ran)
    if (answer.winner !== 'w') this.#pass.wrong(`race '${key}' was won by '${answer.winner}'`)
    return answer
  }

  async #late(ctx: TaskContext, { as, first, other, timeoutMs }: LateNode, key: string): Promise<void> {
    const w = async (branch: TaskContext) => {
      await this.go(branch, first, `${key}.w`)
      await branch.waitForSignal(`${key} never`)
    }
    const l = (branch: TaskContext) => this.#lose(branch, other, `${key}.l`)
    try {
      await ctx[as](key, { w, l }, { timeoutMs })
    } catch (error) {
      if (error instanceof TimeoutError) this.#pass.saw('late', key)
      throw error
    }
    this.#pass.wrong(`${as} '${key}' ended although its time was over`)
  }

  async #lose(ctx: TaskContext, loser: Loser, key: string): Promise<void> {
    switch (loser) {
      case 'sleep':
        return ctx.sleep(key, LONG_MS)
      case 'signal':
        return void (await ctx.waitForSignal(key))
      case 'approval':
        return void (await ctx.requestApproval(key, null))
      case 'step':
        return ctx.step(key, ({ signal }) => aborted(signal))
      case 'child':
        return void (await ctx.call(key, this.#child, key))
      case 'step after sleep':
        await ctx.sleep(key, LONG_MS)
        return void (await ctx.step(`${key} then`, () => key))
    }
  }

  async #branch(ctx: TaskContext, { draw, ways }: Act<'branch'>, key: string): Promise<unknown> {
    const drawn = await ctx.step(`${key} draw`, () => draw)
    return [drawn, drawn ? await this.go(ctx, ways[0], `${key}.a`) : await this.go(ctx, ways[1], `${key}.b`)]
  }

  async #answered(
    does: Node['does'],
    key: string,
    expected: unknown,
    answer: Promise<unknown>,
  ): Promise<unknown> {
    return this.#see(does, key, expected, await answer)
  }

  #see(does: Node['does'], key: string, expected: unknown, answer: unknown): unknown {
    if (!isDeepStrictEqual(answer, expected)) this.#pass.wrong(`'${key}' was answered as another`)
    this.#pass.saw(does, key)
    return answer
  }
}

/** A step that runs until it is given up keeps the pass alive: only a winner that does not wait gets one beside it. */
function loserOf({ winner, loser, throws }: Act<'race'>): Loser {
  const isQuick = winner.does === 'step' && !throws
  return loser === 'step' && !isQuick ? 'sleep' : loser
}

/** Longer than any program takes. */
function limitOf(limited: boolean) {
  return limited ? { timeoutMs: 100 * LONG_MS } : undefined
}

const LONG_MS = 30 * 86_400_000

class Planned extends Error {}

/** What a handler makes of the errors that it expects; any other is its end. */
async function caught(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof Planned) return { caught: error.message }
    if (error instanceof TimeoutError || error instanceof ApprovalRejected || error instanceof TaskFailed)
      return { caught: error.name }
    throw error
  }
}

async function inOrder<T>(
  items: readonly T[],
  act: (item: T, index: number) => Promise<unknown>,
): Promise<unknown[]> {
  const results: unknown[] = []
  for (const [index, item] of items.entries()) results.push(await act(item, index))
  return results
}

/** Work that takes a turn of the event loop. */
async function soon<T>(work: () => T): Promise<T> {
  await new Promise((resolve) => setImmediate(resolve))
  return work()
}

/** Work that ends when nobody wants it any more. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
