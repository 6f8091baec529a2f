// Buys credits for the client `ada` in the store at argv[2] under the keys argv[3]-1, argv[3]-2, … and submits a task for each purchase. Says `bought KEY`
// of each purchase that is acknowledged. It begins with those that were bought before, as a program does that does not know what became of its last call.
import { writeSync } from 'node:fs'
import { createRuntime, defineTask } from '../../src/index.ts'
import { z } from 'zod'

const [database = '', prefix = ''] = process.argv.slice(2)

const spend = defineTask({ type: 'spend', input: z.number() }, async (ctx, cost) => {
  await ctx.step('first', (step) => {
    step.charge({ cost })
  })
  await ctx.step('second', (step) => {
    step.charge({ cost: 0.25 })
  })
})

const runtime = await createRuntime({
  store: `sqlite:${database}`,
  durability: 'normal',
  tasks: [spend],
  config: { shares: { ledger: true, outOfCredits: 'park', startCredits: 0 } },
  logger: false,
})
for (let n = 1; ; n++) {
  const key = `${prefix}-${n}`
  await runtime.credits.purchase('ada', 5, { key })
  writeSync(1, `bought ${key}\n`)
  await runtime.result(await runtime.submit(spend, n % 7, { client: 'ada', cost: 3, idempotencyKey: key }))
}
