// Deletes the database given while a task runs on it. What it prints to standard error goes to standard output.
import { rmSync } from 'node:fs'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

process.stderr.write = process.stdout.write.bind(process.stdout)
const database = process.argv[2] ?? ''
const held = defineTask({ type: 'held', input: z.null() }, async (ctx) => {
  ctx.onCleanup(() => {
    throw new Error('hunter2')
  })
  rmSync(database)
  await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('hunter2'))))
})
const runtime = await createRuntime({
  store: `sqlite:${database}`,
  tasks: [held],
  signals: true,
  onFailure: () => {
    throw new Error('hunter2')
  },
})
const receipt = await runtime.submit(held, null)
await runtime.result(receipt).catch((error: { code: string }) => console.log(`ended with ${error.code}`))
