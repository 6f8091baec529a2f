// A worker on the database given whose first task ruins its process, in the way given, beside tasks that do nothing wrong.
//
//   exit, memory                  every time that it runs
//   timer, rejection, emitter     the first time, by an error that no code of its handler can catch
//   hook                          in its clean-up hook
//   --capacity N   tasks at once
//   --crashes N    maxCrashes
//   --beside       what does nothing wrong does not get far while the first runs
import { EventEmitter } from 'node:events'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    capacity: { type: 'string', default: '1' },
    crashes: { type: 'string', default: '2' },
    beside: { type: 'boolean', default: false },
  },
})
const [database = '', how = ''] = positionals
const forEver = () => new Promise<never>(() => {})
const wrong = () => {
  throw new Error('nobody catches this')
}

const ways: Record<string, () => unknown> = {
  exit: () => process.exit(1),
  memory: () => {
    for (const hog: unknown[] = []; ;) hog.push(Array.from({ length: 100_000 }, () => ({})))
  },
  timer: () => setTimeout(wrong, 0),
  rejection: () => void Promise.reject(new Error('nobody catches this')),
  emitter: () => setImmediate(() => new EventEmitter().emit('error', new Error('nobody catches this'))),
}

const ruin = defineTask({ type: 'ruin', input: z.number() }, async (ctx) => {
  console.log(`began ${ctx.attempt}`)
  if (how === 'hook') ctx.onCleanup(() => void process.kill(process.pid, 'SIGKILL'))
  else if (ctx.attempt > 1 && !['exit', 'memory'].includes(how)) return 'recovered'
  else ways[how]?.()
  return forEver()
})
const good = defineTask({ type: 'good', input: z.number() }, async (ctx, n) => {
  if (values.beside && (await runtime.status('ruin'))?.state === 'running') return forEver()
  await ctx.step('one', () => n)
  return ctx.step('two', () => n)
})

const runtime = await createRuntime({
  store: `sqlite:${database}`,
  tasks: [ruin, good],
  logger: false,
  workers: { capacity: Number(values.capacity) },
  config: { maxCrashes: Number(values.crashes) },
})
const receipts = await runtime.submitMany([
  { task: ruin, input: 0, options: { taskId: 'ruin', idempotencyKey: 'ruin' } },
  ...[1, 2, 3, 4].map((n) => ({ task: good, input: n, options: { idempotencyKey: String(n) } })),
])
for (const { taskId } of receipts) await runtime.result(taskId).catch(() => undefined)
await runtime.stop()
