// A worker on the database given whose process sleeps in the middle of a task until it is woken, and goes on at once: each step and
// command leaves a line in the ledger given. In a later attempt the task returns at once. When it sleeps is given, too: `at once`, or once
// its store has answered that the lease is live (`confirmed`) or that a step is to begin (`intended`), and that answer has not been read; or it
// does not sleep, and is so `busy` that it might as well have.
import { appendFileSync } from 'node:fs'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

const [database = '', ledger = '', sleeps = 'at once', thread = 'true'] = process.argv.slice(2)
/** Nothing else runs meanwhile in this thread. */
const spin = (ms: number) => {
  const end = performance.now() + ms
  while (performance.now() < end);
}
const sleepy = defineTask({ type: 'sleepy', input: z.null() }, async (ctx) => {
  if (ctx.attempt > 1) return `attempt ${ctx.attempt}`
  const step = (key: string) => ctx.step(key, () => appendFileSync(ledger, `${key}\n`))
  const begin = () => [step('one'), step('two'), ctx.exec('sh', ['-c', `echo three >> "$0"`, ledger])]
  const intend = () => [ctx.step('one', { inDoubt: 'ask' }, () => appendFileSync(ledger, 'one\n'))]
  await step('before')
  console.log('sleeps')
  let begun: readonly Promise<unknown>[] = []
  if (sleeps !== 'at once') {
    // So long that it has to ask whether its lease is live; the answer comes, and is not read yet.
    if (sleeps !== 'intended') spin(1_000)
    begun = sleeps === 'intended' ? intend() : begin()
    for (let turns = 0; turns < 20; turns += 1) await Promise.resolve()
    spin(300)
  }
  if (sleeps !== 'busy') process.kill(process.pid, 'SIGSTOP')
  if (sleeps === 'at once') begun = begin()
  for (const { status, reason } of (await Promise.allSettled(begun)) as PromiseRejectedResult[])
    console.log(`${status} ${(reason as Error | undefined)?.name ?? 'nothing'}`)
  return 'not stopped'
})
await createRuntime({
  store: `sqlite:${database}`,
  thread: thread === 'true',
  tasks: [sleepy],
  logger: false,
  config: { leaseTtlMs: 2_000, heartbeatIntervalMs: 1_200 },
})
console.log('ready')
