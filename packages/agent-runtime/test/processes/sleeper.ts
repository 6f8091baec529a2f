// A worker on the database given whose process sleeps in the middle of a task until it is woken, and goes on at once: each step and
// command leaves a line in the ledger given. In a later attempt the task returns at once.
import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

const [database = '', ledger = ''] = process.argv.slice(2)
const sleepy = defineTask({ type: 'sleepy', input: z.null() }, async (ctx) => {
  if (ctx.attempt > 1) return `attempt ${ctx.attempt}`
  const step = (key: string) => ctx.step(key, () => appendFileSync(ledger, `${key}\n`))
  await step('before')
  console.log('sleeps')
  process.kill(process.pid, 'SIGSTOP')
  const begun = [step('one'), step('two'), ctx.exec('sh', ['-c', `echo three >> "$0"`, ledger])]
  for (const { status, reason } of (await Promise.allSettled(begun)) as PromiseRejectedResult[])
    console.log(`${status} ${(reason as Error | undefined)?.name ?? ''}`)
  return 'not stopped'
})
await createRuntime({
  store: `sqlite:${database}`,
  tasks: [sleepy],
  logger: false,
  config: { leaseTtlMs: 2_000, heartbeatIntervalMs: 1_200 },
})
console.log('ready')
