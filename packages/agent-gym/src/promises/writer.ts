// A process with one task that records a step whenever it is told to, for others to follow, until it is told to end.
import { createInterface } from 'node:readline'
import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

const [store = ''] = process.argv.slice(2)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

const task = defineTask({ type: 'written', input: z.null() }, async (ctx) => {
  let written = 0
  for (;;) {
    const { value, done } = await lines.next()
    if (done === true || value === 'end') return written
    for (let more = Number(value); more > 0; more -= 1) {
      written += 1
      await ctx.step(`step ${written}`, () => written)
    }
  }
})
const runtime = await createRuntime({ store, tasks: [task], workers: 1, strict: false, logger: false })
const { taskId } = await runtime.submit(task, null)
process.stdout.write(`task ${taskId}\n`)
await runtime.result(taskId)
// Its parent holds the other end still.
process.stdin.destroy()
await runtime.stop()
