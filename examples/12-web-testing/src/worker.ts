// A process that tests a site to the end, and can be told to die at a border between two stages.
//
//   node worker.ts DATABASE URL [--die-at BORDER]
//
// It prints each border, and at the end the report.
import { parseArgs } from 'node:util'
import { createRuntime } from '@ku0/agent-runtime'
import { onBorders } from './borders.ts'
import { evaluate, evaluatePaper } from './evaluation.ts'
import { events } from './events.ts'
import { tasks, webTesting } from './pipeline.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'die-at': { type: 'string' } },
})
const [database, site = ''] = positionals

await using runtime = await createRuntime({
  store: `sqlite:${database}`,
  tasks,
  // A slot for each stage.
  workers: { capacity: tasks.length },
  start: false,
  logger: false,
})
onBorders(runtime, (border) => {
  console.log(`border: ${border}`)
  if (border === values['die-at']) process.kill(process.pid, 'SIGKILL')
})

// The next process submits the same: the key finds the task of the first.
const receipt = await runtime.submit(webTesting, { site }, { idempotencyKey: 'test' })
await runtime.start()
const report = events.final_report.parse((await runtime.result(receipt))['synthesis'])
const status = await runtime.status(receipt)
const took = status?.state === 'completed' ? status.finishedAt - status.submittedAt : 0
const { composite, reputation } = await evaluate(runtime, receipt.taskId, report, took)
console.log(`report: ${JSON.stringify(report)}`)
console.log(`scores: ${JSON.stringify({ composite, reputation, paper: await evaluatePaper(runtime) })}`)
for await (const { sequence, type } of runtime.pipeline(receipt).events({ live: false }))
  console.log(`event: ${sequence} ${type}`)
