// Runs a task that leaves calls unawaited which fail, beside one that has nothing to do with it, and says how each ended.
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

const careless = defineTask(
  { type: 'careless', input: z.enum(['step', 'race', 'all', 'exec']) },
  async (ctx, call) => {
    const fail = async () => {
      throw new Error(`${call} went wrong`)
    }
    if (call === 'step') void ctx.step('a', fail)
    else if (call === 'exec') void ctx.exec('/no/such/command')
    else void ctx[call]('a', { only: fail })
    await ctx.step('b', () => new Promise((resolve) => setTimeout(resolve, 200)))
  },
)
const beside = defineTask({ type: 'beside', input: z.null() }, (ctx) =>
  ctx.step('slow', () => new Promise<string>((resolve) => setTimeout(() => resolve('done'), 600))),
)
const runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [careless, beside], logger: false })
const other = await runtime.submit(beside, null)
for (const call of ['step', 'race', 'all', 'exec'] as const) {
  await runtime
    .result(await runtime.submit(careless, call))
    .catch((error: Error) => console.log(`${call}: ${(error.cause as Error).message}`))
}
console.log(`beside: ${await runtime.result(other)}`)
await runtime.stop()
