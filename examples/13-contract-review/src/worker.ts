// A process that runs the review to its end, and can be told to die at a border between two stages.
//
//   node worker.ts DATABASE [--die-at BORDER]
//
// It prints each border, each failure that it goes on after, and at the end the report. People answer elsewhere.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createRuntime } from '@ku0/agent-runtime'
import { onBorders } from './borders.ts'
import { evaluate, evaluatePaper } from './evaluation.ts'
import { agreement, review, tasks } from './review.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'die-at': { type: 'string' } },
})

await using runtime = await createRuntime({
  store: `sqlite:${positionals[0]}`,
  tasks,
  start: false,
  logger: false,
})
onBorders(runtime, (border) => {
  console.log(`border: ${border}`)
  if (border === values['die-at']) process.kill(process.pid, 'SIGKILL')
})
runtime.on('task.requeued', ({ data: { recovery } }) => {
  if (recovery !== undefined) console.log(`failure: ${recovery.category}: ${recovery.strategy}`)
})

const contract = readFileSync(new URL('contract.txt', import.meta.url), 'utf8')
const job = 'Analyze vendor contract for GDPR compliance risks'
// The next process submits the same: the key finds the task of the first.
const receipt = await runtime.submit(review, { job, contract }, { agreement, idempotencyKey: 'review' })
await runtime.start()
const report = await runtime.result(receipt)
const status = await runtime.status(receipt)
const took = status?.state === 'completed' ? status.finishedAt - status.submittedAt : 0
const { composite, reputation } = await evaluate(runtime, receipt.taskId, report, took)
console.log(`report: ${JSON.stringify(report)}`)
console.log(`scores: ${JSON.stringify({ composite, reputation, paper: await evaluatePaper(runtime) })}`)
