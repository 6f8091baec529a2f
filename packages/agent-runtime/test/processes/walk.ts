// The program behind the picture in the README: a task of six steps, on the store that is named. With `--die` its process kills itself in the fourth.
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

const [database = '', mode] = process.argv.slice(2)

const agent = defineTask({ type: 'agent', input: z.null() }, async (ctx) => {
  for (let n = 1; n <= 6; n += 1) {
    await ctx.step(`step ${n}`, async () => {
      console.log(JSON.stringify({ step: n, at: Date.now() }))
      await sleep(400)
      if (n === 4 && mode === '--die') process.kill(process.pid, 'SIGKILL')
    })
  }
  return 'done'
})

await using runtime = await createRuntime({ store: `sqlite:${database}`, tasks: [agent], logger: false })
const receipt = await runtime.submit(agent, null, { idempotencyKey: 'the one' })
await runtime.result(receipt)
const recorded: { step: string; at: number }[] = []
for await (const event of runtime.events(receipt))
  if (event.type === 'step.completed') recorded.push({ step: event.data.key, at: event.at })
console.log(JSON.stringify({ recorded }))
