// A process that does what a script says, each act once all that the one before brings on has begun.
import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'
import { orderScript, type ScriptTask, workers } from './order-script.ts'

const [store = '', count = '0', seed = '0'] = process.argv.slice(2)
const doors = new Map<string, () => void>()
let started = 0
let awaited = Infinity
let reached = Promise.withResolvers<void>()

const task = defineTask({ type: 'ordered', input: z.null() }, async (ctx) => {
  await ctx.step('begin', () => ctx.taskId)
  const door = Promise.withResolvers<void>()
  doors.set(ctx.taskId, () => door.resolve())
  started += 1
  if (started >= awaited) reached.resolve()
  await door.promise
  return ctx.taskId
})
const { first, startedAtFirst, acts } = orderScript(Number(count), Number(seed))
const runtime = await createRuntime({
  strict: false,
  store,
  tasks: [task],
  workers: { ids: [...workers.ids], capacity: workers.capacity },
  config: { maxInFlightPerWorker: workers.capacity },
  start: false,
  logger: false,
})
for (const each of first) await submit([each])
await runtime.start()
await begun(startedAtFirst)
for (const act of acts) {
  if ('submit' in act) await submit(act.submit)
  else {
    for (const taskId of act.release) doors.get(taskId)?.()
    await Promise.all(act.release.map((taskId) => runtime.result(taskId)))
  }
  await begun(act.started)
}
await runtime.stop()
process.stdout.write(`done Node ${process.versions.node}\n`)

async function submit(tasks: readonly ScriptTask[]): Promise<void> {
  await runtime.submitMany(
    tasks.map(({ taskId, lane }) => ({ task, input: null, options: { taskId, lane } })),
  )
}

async function begun(many: number): Promise<void> {
  if (started >= many) return
  awaited = many
  reached = Promise.withResolvers()
  await reached.promise
}
