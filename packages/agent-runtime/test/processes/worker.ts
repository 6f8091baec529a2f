// A worker on the database given: its task does ten steps, each of which leaves a line in the ledger given.
//
//   --die-after N    kill -9 itself once N steps of this process are recorded
//   --wait-in N      the N-th step waits until it is aborted
//   --deaf           and then goes on waiting
//   --submit N       submit so many tasks first
//   --capacity N, --grace MS, --forever
import { appendFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'die-after': { type: 'string' },
    'wait-in': { type: 'string' },
    submit: { type: 'string', default: '0' },
    capacity: { type: 'string', default: '4' },
    grace: { type: 'string', default: '30000' },
    deaf: { type: 'boolean', default: false },
    forever: { type: 'boolean', default: false },
  },
})
const [database = '', ledger = ''] = positionals
const dieAfter = Number(values['die-after'] ?? Number.POSITIVE_INFINITY)
const waitIn = Number(values['wait-in'] ?? -1)
let recorded = 0

const work = defineTask({ type: 'work', input: z.object({ name: z.string() }) }, async (ctx, { name }) => {
  for (let index = 0; index < 10; index += 1) {
    await ctx.step(`step ${index}`, async (step) => {
      appendFileSync(ledger, `${name} ${index} ${ctx.attempt} ${step.idempotencyKey}\n`)
      if (index === waitIn) {
        console.log(`waiting ${name}`)
        await new Promise((_, reject) => {
          step.signal.addEventListener('abort', () => {
            console.log(`aborted ${name}: ${(step.signal.reason as Error).name}`)
            if (!values.deaf) reject(step.signal.reason as Error)
          })
        })
      }
      return index
    })
    recorded += 1
    if (recorded === dieAfter) process.kill(process.pid, 'SIGKILL')
  }
  return `${name} done`
})

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => console.log('draining'))
const begun = performance.now()
const runtime = await createRuntime({
  store: `sqlite:${database}`,
  tasks: [work],
  signals: true,
  logger: false,
  config: { maxInFlightPerWorker: Number(values.capacity), drainGraceMs: Number(values.grace) },
})
using _ = runtime.on('step.completed', (event) => {
  if (event.elsewhere !== true) console.log(`first step after ${Math.round(performance.now() - begun)} ms`)
  _[Symbol.dispose]()
})
const count = Number(values.submit)
const receipts = await runtime.submitMany(
  Array.from({ length: count }, (unused, index) => ({ task: work, input: { name: `t${index}` } })),
)
console.log(`submitted ${receipts.length}`)
if (!values.forever) {
  const { tasks } = await runtime.list({ limit: 1_000 })
  for (const { taskId } of tasks) console.log(`result ${String(await runtime.result(taskId))}`)
  await runtime.stop()
}
