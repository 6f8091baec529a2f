// One life of a process that is killed: it submits, says what was acknowledged, and works, until its parent kills it. The last
// life submits what no life was told of, and ends when nothing is left to do.
import { openSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime } from '@ku0/agent-runtime'
import { openLedger } from '../work/ledger.ts'
import { appendLine } from '../work/lines.ts'
import { killTasks } from './work.ts'

const [folder = '', first = '0', count = '0', which = ''] = process.argv.slice(2)
const told = openSync(`${folder}/told.txt`, 'a')
/** The system has what is written at once: what was said stays said when the process is killed in the next moment. */
const say = (line: string) => appendLine(told, line)

// A task's effects are witnessed before its step is recorded, so that one that is missing tells on the store. The disk need not
// have them: only the process dies.
const ledger = openLedger(`${folder}/ledger.txt`, { sync: false })
const { parent, all } = killTasks(ledger)
const runtime = await createRuntime({
  strict: false,
  store: `sqlite:${folder}/runtime.db`,
  tasks: all,
  workers: { count: 1, capacity: 20 },
  // Nothing but kills may end an attempt, and no burst is refused.
  config: { maxCrashes: 1_000_000, queueDepthLimit: 1_000_000, batchBackpressureThreshold: 1_000_000 },
  logger: false,
})
// Node keeps what it has compiled when it exits; a life that is killed leaves it to the next here.
flushCompileCache()
process.stdout.write('open\n')

const numbers = Array.from({ length: Number(count) }, (_, index) => Number(first) + index).values()
await Promise.all(Array.from({ length: 10 }, () => submitAll()))
for (;;) {
  const { depth, delayed, running, waiting } = await runtime.stats()
  if (Object.values(depth).reduce((sum, queued) => sum + queued, delayed + running + waiting) === 0) break
  await sleep(20)
}
// Whoever is to be killed is there for it, however quick the machine is; who is left behind by its parent goes by itself.
if (which !== 'last') await sleep(60_000)
await runtime.stop()
await ledger.close()

async function submitAll(): Promise<void> {
  for (const n of numbers) {
    say(`call ${n}`)
    const receipt = await runtime.submit(parent, { n }, { idempotencyKey: `key-${n}` })
    say(`ack ${n} ${receipt.taskId}`)
  }
}
