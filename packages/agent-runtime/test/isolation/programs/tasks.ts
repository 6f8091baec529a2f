// The module of the isolated tasks of the tests: each type in a thread and in a process.
import { appendFileSync, existsSync } from 'node:fs'
import { z } from 'zod'
import {
  definePipeline,
  defineTask,
  type TaskContext,
  type TaskDefinition,
  type TaskDefinitionOptions,
} from '../../../src/index.ts'

export const kinds = ['thread', 'process'] as const
const module = import.meta.url
/** Enough for the runtime itself, and soon filled. */
const memoryMb = 48

type Options = Partial<TaskDefinitionOptions<string, z.ZodType, undefined>>

function inBoth(
  name: string,
  handler: (ctx: TaskContext, input: never) => unknown,
  options: Options = {},
): readonly TaskDefinition[] {
  return kinds.map(
    (isolation) =>
      defineTask(
        { type: `${name}/${isolation}`, input: z.any(), isolation, module, memoryMb, ...options },
        handler as never,
      ) as TaskDefinition,
  )
}

/** Uses what a handler can use, and returns what came of it. */
const whole = inBoth('whole', async (ctx, { file }: { file: string }) => {
  const step = await ctx.step('once', async () => {
    appendFileSync(file, 'once\n')
    return new Date(7)
  })
  await ctx.emit({ at: 'start' })
  await ctx.heartbeat({ progress: 0.5 })
  ctx.charge({ tokens: 3 })
  await ctx.sleep('a moment', 1)
  const signal = await ctx.waitForSignal<number>('go')
  const child = await ctx.call('child', `echo/${ctx.type.split('/')[1]}`, { n: signal })
  const { stdout } = await ctx.exec('echo', ['hello'])
  const both = await ctx.all('both', {
    one: (branch) => branch.step('one', () => 1),
    two: (branch) => branch.step('two', () => 2),
  })
  const approval = await ctx.requestApproval('sure?', { n: 1 }, { mode: 'supervised' })
  await ctx.emit({ at: 'end' })
  return {
    step,
    signal,
    child,
    stdout,
    both,
    approvedBy: approval.by,
  }
})

const echo = inBoth('echo', async (_, input: unknown) => input)

const spin = inBoth(
  'spin',
  () => {
    for (;;);
  },
  { timeoutMs: 300 },
)

/** Says when it will hear nothing any more: a cancellation that comes before that ends its step, and it stops as it should. */
const endless = inBoth('endless', async (ctx, { file }: { file: string }) => {
  ctx.charge({ tokens: 5 })
  await ctx.step('begun', () => appendFileSync(file, 'begun\n'))
  ctx.charge({ tokens: 2 })
  appendFileSync(file, 'deaf\n')
  for (;;);
})

const hog = inBoth('hog', () => {
  const kept: unknown[] = []
  // In large pieces: a heap that fills by crumbs is collected for seconds before it is full.
  for (;;) kept.push(Array.from({ length: 1_000_000 }).fill(kept.length))
})

const exit = inBoth('exit', async () => process.exit(3))

const stray = inBoth('stray', async () => {
  setTimeout(() => {
    throw new TypeError('nobody caught this')
  }, 1)
  await new Promise(() => {})
})

/** Exits in its first try, after a step. */
const resumes = inBoth(
  'resumes',
  async (ctx, { file }: { file: string }) => {
    await ctx.step('before', () => appendFileSync(file, 'before\n'))
    if (ctx.attempt === 1) process.exit(4)
    await ctx.step('after', () => appendFileSync(file, 'after\n'))
    return ctx.attempt
  },
  { retry: { attempts: 2, backoff: { initialMs: 1 } } },
)

/** Stops when it is asked to, and cleans up. */
const tidy = inBoth('tidy', async (ctx, { file }: { file: string }) => {
  ctx.onCleanup((reason) => appendFileSync(file, `cleaned up: ${reason}\n`))
  await ctx.step('begun', () => appendFileSync(file, 'begun\n'))
  await new Promise((_, reject) => {
    ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))
  })
})

/** Fails, and cleans up for a while without a look at anything else. */
const sweeps = inBoth('sweeps', async (ctx, { file }: { file: string }) => {
  ctx.onCleanup(() => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
    appendFileSync(file, 'swept\n')
  })
  await ctx.step('begun', () => 1)
  throw new Error('it fails')
})

/** Starts a command that would outlive it. */
const commands = inBoth('commands', async (ctx, { file }: { file: string }) => {
  void ctx.exec('sh', ['-c', `echo $$ >> ${file}; exec sleep 600`])
  while (!existsSync(file)) await new Promise((later) => setTimeout(later, 5))
  for (;;);
})

const busy = inBoth(
  'busy',
  () => {
    for (;;);
  },
  { profile: 'HEAVY', limits: { hard: { cpuTimeUs: 300_000 } } },
)

/** Never returns with the models before the last. */
const slow = inBoth(
  'slow',
  async (ctx) => {
    await ctx.step('begun', () => 1)
    while (ctx.model !== 'tiny');
    return [ctx.model, ctx.failure?.category, ctx.attempt]
  },
  {
    timeoutMs: 300,
    model: 'big',
    recovery: { timeout: 'fallback_agent', fallbackModels: ['small', 'tiny'] },
  },
)

/** Exits, and goes on with the words of a person. */
const asks = inBoth(
  'asks',
  async (ctx, { file }: { file: string }) => {
    await ctx.step('before', () => appendFileSync(file, 'before\n'))
    if (ctx.failure === undefined) process.exit(5)
    return [ctx.failure.kind, ctx.failure.feedback]
  },
  { recovery: { crash: 'human_escalation' } },
)

const says = inBoth('says', (ctx) => ctx.publishAll('word', ['a', 'bb', 'ccc']))
const hears = inBoth('hears', async (ctx) => {
  const lengths: number[] = []
  for (;;) {
    const events = await ctx.receive<string>(['word'], { max: 2 })
    if (events.length === 0) return lengths
    lengths.push(...events.map(({ data }) => data.length))
  }
})

/** A pipeline whose stages are isolated. */
export const pipelines = kinds.map((kind, at) => {
  const [from, to] = [says[at], hears[at]]
  if (from === undefined || to === undefined) throw new Error(`no stages in a ${kind}`)
  return definePipeline({
    name: `line/${kind}`,
    stages: [
      { name: 'says', task: from, publishes: { word: z.string() } },
      { name: 'hears', task: to, subscribes: ['word'] },
    ],
  })
})

export const tasks = [
  [whole, echo, spin, endless, hog, exit, stray, resumes, tidy, commands, busy],
  [slow, asks, says, hears, sweeps],
].flat(2)
