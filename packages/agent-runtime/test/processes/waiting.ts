import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

/** Says what the process weighs: with few tasks that wait, and with many more of them. */
const [path = ''] = process.argv.slice(2)
const waits = defineTask({ type: 'waits', input: z.null() }, (ctx) => ctx.waitForSignal('go'))
await using runtime = await createRuntime({
  store: `sqlite:${path}`,
  tasks: [waits],
  logger: false,
  workers: { capacity: 100 },
  config: { maxInFlightPerWorker: 100, queueDepthLimit: 20_000, batchBackpressureThreshold: 20_000 },
})
let waiting = 0
let heard = Promise.withResolvers<void>()
let wanted = 0
runtime.on('task.waiting', () => {
  waiting += 1
  if (waiting === wanted) heard.resolve()
})

async function waitWith(count: number): Promise<void> {
  wanted = waiting + count
  heard = Promise.withResolvers()
  for (let left = count; left > 0; left -= 500)
    await runtime.submitMany(Array.from({ length: 500 }, () => ({ task: waits, input: null })))
  await heard.promise
  for (let round = 0; round < 5; round++) {
    globalThis.gc?.()
    await new Promise((next) => setImmediate(next))
  }
  const { rss, heapUsed } = process.memoryUsage()
  const { running, inFlight } = await runtime.stats()
  console.log(`weighs ${JSON.stringify({ waiting, running, inFlight, rss, heapUsed })}`)
}

// The first ones warm up what all tasks share.
await waitWith(5_000)
await waitWith(10_000)
console.log('done')
