import { createRuntime, defineTask, type Receipt, type Runtime, type TaskContext } from '@ku0/agent-runtime'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { type SeededRandom, seededRandom } from '../work/random.ts'

/** What leaks on purpose, to see it found. */
export const leaks = {
  leak: 'each task keeps four kilobytes for ever',
  listener: 'every tenth task leaves a listener on the signal that all share',
  timer: 'every tenth task leaves a timer armed',
} as const
export type Leak = keyof typeof leaks

/** How a task is handled from outside; each ends, one way or another. */
const kinds = [
  'steps',
  'steps',
  'nap',
  'signal',
  'approval',
  'child',
  'retry',
  'fail',
  'cancel',
  'race',
  'output',
  'output left',
  'impatient',
  'expensive',
] as const
type Kind = (typeof kinds)[number]

/** A mixed load on two runtimes of one file: the store of one has a thread of its own, that of the other is in this thread, where its heap is seen. */
export class Load implements AsyncDisposable {
  readonly #runtimes: readonly Runtime[]
  readonly #url: string
  readonly #tasks: ReturnType<typeof tasksOf>
  readonly #random: SeededRandom
  readonly #shared = new AbortController()
  readonly #reader: Database.Database
  readonly #counts = new Map<Kind, number>()
  #ended = 0
  #comings = 0

  private constructor(
    runtimes: readonly Runtime[],
    url: string,
    tasks: ReturnType<typeof tasksOf>,
    seed: number,
  ) {
    this.#runtimes = runtimes
    this.#url = url
    this.#tasks = tasks
    this.#random = seededRandom(seed, 'soak')
    this.#reader = new Database(url.slice('sqlite:'.length), { readonly: true })
  }

  static async open(database: string, seed: number, leak: Leak | undefined): Promise<Load> {
    const url = `sqlite:${database}`
    const leaking = leak === undefined ? undefined : leakOf(leak)
    const tasks = tasksOf((signal) => leaking?.(signal))
    const runtimes = [await open(url, tasks, true), await open(url, tasks, false)]
    const load = new Load(runtimes, url, tasks, seed)
    if (leaking !== undefined) shared = load.signal
    return load
  }

  /** The signal that all waiting shares, as a program's own for its shutdown. */
  get signal(): AbortSignal {
    return this.#shared.signal
  }

  /** Tasks of this process that have ended, without their children. */
  get ended(): number {
    return this.#ended
  }

  get comings(): number {
    return this.#comings
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /** Brings so many tasks to their ends, a few at a time, while workers come and go and somebody reads. */
  async round(tasks: number): Promise<void> {
    const plans = Array.from({ length: tasks }, () => this.#random.pick(kinds)).values()
    const busy = Array.from({ length: 64 }, async (_, at) => {
      for (const kind of plans) {
        await this.#one(kind, this.#runtimes[at % 2] as Runtime)
        this.#ended += 1
        this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1)
      }
    })
    const state = { over: false }
    const reading = this.#readOn(state)
    const coming = this.#comeAndGo(state)
    await Promise.all(busy)
    state.over = true
    await Promise.all([reading, coming])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader.close()
    for (const runtime of this.#runtimes) await runtime.stop({ drain: false })
  }

  /** A third runtime, again and again: it takes what it gets, and leaves. */
  async #comeAndGo(state: { readonly over: boolean }): Promise<void> {
    do {
      const runtime = await open(this.#url, this.#tasks, this.#comings % 2 === 0)
      await runtime.submit(this.#tasks.steps, 1)
      await new Promise((resolve) => setTimeout(resolve, 200))
      await runtime.stop({ drain: this.#comings % 3 !== 0 })
      this.#comings += 1
    } while (!state.over)
  }

  /** A reader that is always there, as a page for people is: through the runtime, and by SQL of its own. */
  async #readOn(state: { readonly over: boolean }): Promise<void> {
    const [runtime] = this.#runtimes
    const events = this.#reader.prepare('SELECT count(*) FROM (SELECT 1 FROM event LIMIT 1000)')
    while (!state.over) {
      const { tasks } = (await runtime?.list({ limit: 20 })) ?? { tasks: [] }
      for (const { taskId } of tasks.slice(0, 3)) await runtime?.explain(taskId)
      await runtime?.stats()
      await runtime?.explainQueue()
      events.get()
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  async #one(kind: Kind, runtime: Runtime): Promise<void> {
    const { steps, waits, fails, family, naps, races, emits } = this.#tasks
    const end = (receipt: Receipt) =>
      runtime.result(receipt, { signal: this.signal }).catch((error: unknown) => {
        if (!expected.has((error as { code?: string }).code ?? '')) throw error
      })
    switch (kind) {
      case 'steps':
        return void (await end(await runtime.submit(steps, 3)))
      case 'nap':
        return void (await end(await runtime.submit(naps, 1 + Math.floor(this.#random.next() * 20))))
      case 'signal': {
        const receipt = await runtime.submit(waits, 'signal')
        await runtime.signal(receipt, 'go', { at: 1 })
        return void (await end(receipt))
      }
      case 'approval': {
        const receipt = await runtime.submit(waits, 'approval')
        await this.#approve(runtime, receipt)
        return void (await end(receipt))
      }
      case 'child':
        return void (await end(await runtime.submit(family, 2)))
      case 'retry':
        return void (await end(await runtime.submit(fails, 'once')))
      case 'fail':
        return void (await end(await runtime.submit(fails, 'always')))
      case 'cancel': {
        const receipt = await runtime.submit(waits, 'signal')
        await runtime.cancel(receipt, { reason: 'soak' })
        return void (await end(receipt))
      }
      case 'race':
        return void (await end(await runtime.submit(races, 5)))
      case 'output': {
        const receipt = await runtime.submit(emits, 5)
        for await (const item of runtime.output(receipt, { signal: this.signal })) void item
        return
      }
      case 'output left': {
        const receipt = await runtime.submit(emits, 5)
        for await (const item of runtime.output(receipt, { signal: this.signal }))
          if (item !== undefined) break
        for await (const event of runtime.events(receipt, { signal: this.signal })) if (event.seq > 1) break
        return void (await end(receipt))
      }
      case 'impatient': {
        const receipt = await runtime.submit(naps, 20)
        await runtime.result(receipt, { timeoutMs: 1, signal: this.signal }).catch(() => {})
        return void (await end(receipt))
      }
      case 'expensive': {
        const listening = runtime.on('task.completed', () => {})
        const receipt = await runtime.submit(steps, 8, { budget: { steps: 4 }, labels: { team: 'soak' } })
        await end(receipt)
        listening[Symbol.dispose]()
        return void (await end(await runtime.retry(receipt, { budget: { steps: 20 } })))
      }
    }
  }

  async #approve(runtime: Runtime, receipt: Receipt): Promise<void> {
    for await (const { type, seq } of runtime.events(receipt, { signal: this.signal })) {
      if (type !== 'approval.requested') continue
      await runtime.approvals.approve(`${receipt.taskId}:${seq}`, { by: 'soak' })
      return
    }
  }
}

/** How tasks end that are to. */
const expected = new Set(['handler_failed', 'task_canceled', 'budget_exceeded', 'timeout'])

function open(url: string, tasks: ReturnType<typeof tasksOf>, thread: boolean): Promise<Runtime> {
  return createRuntime({
    strict: false,
    store: url,
    tasks: Object.values(tasks),
    workers: { count: 2, capacity: 8 },
    config: { maxInFlightPerWorker: 8 },
    thread,
    logger: false,
  })
}

function tasksOf(leaked: (signal: AbortSignal) => void) {
  const steps = async (ctx: TaskContext, count: number) => {
    leaked(ctx.signal)
    let sum = 0
    for (let n = 0; n < count; n += 1)
      sum += await ctx.step(`step ${n}`, { timeoutMs: 10_000 }, (step) => n + step.idempotencyKey.length)
    await ctx.checkpoint({ sum })
    return sum
  }
  const child = defineTask({ type: 'child', input: z.number() }, steps)
  return {
    child,
    steps: defineTask({ type: 'steps', input: z.number() }, steps),
    naps: defineTask({ type: 'naps', input: z.number() }, async (ctx, ms) => {
      await ctx.sleep('nap', ms)
      return steps(ctx, 1)
    }),
    waits: defineTask({ type: 'waits', input: z.enum(['signal', 'approval']) }, async (ctx, what) => {
      await steps(ctx, 1)
      if (what === 'signal') return ctx.waitForSignal('go', { timeoutMs: 600_000 })
      return (await ctx.requestApproval('approval', { text: 'x'.repeat(200) }, { mode: 'supervised' })).by
    }),
    fails: defineTask(
      { type: 'fails', input: z.enum(['once', 'always']), retry: { attempts: 2, backoff: { initialMs: 5 } } },
      async (ctx, how) => {
        ctx.onCleanup(() => {})
        await steps(ctx, 1)
        if (how === 'always' || ctx.attempt === 1) throw new Error('as it is to')
      },
    ),
    family: defineTask({ type: 'family', input: z.number() }, async (ctx, count) => {
      for (let n = 0; n < count; n += 1) await ctx.call(`child ${n}`, child, n)
    }),
    races: defineTask({ type: 'races', input: z.number() }, async (ctx, ms) => {
      const { winner } = await ctx.race('race', {
        sleeper: (branch) => branch.sleep('long', 600_000),
        worker: async (branch) => {
          await branch.sleep('short', ms)
          return branch.step('work', () => 1)
        },
      })
      return [winner, await ctx.all('all', { a: () => 1, b: (branch) => branch.step('b', () => 2) })]
    }),
    emits: defineTask({ type: 'emits', input: z.number() }, async (ctx, count) => {
      for (let n = 0; n < count; n += 1) await ctx.emit({ n, text: 'x'.repeat(100) })
    }),
  }
}

/** What planted leaks keep. */
const kept: unknown[] = []
let shared: AbortSignal | undefined

function leakOf(leak: Leak): (signal: AbortSignal) => void {
  let calls = 0
  switch (leak) {
    case 'leak':
      return () => void kept.push(Array.from({ length: 512 }, () => calls++))
    case 'listener':
      return () => {
        if (calls++ % 10 === 0) shared?.addEventListener('abort', () => {})
      }
    case 'timer':
      return () => {
        if (calls++ % 10 === 0) setTimeout(() => {}, 2 ** 31 - 1).unref()
      }
  }
}
