// A process that runs the audit of a target to its end, and can be told to die at a border between two stages.
//
//   node worker.ts DATABASE SCOPE [--die-at BORDER]
//
// SCOPE is the target as JSON. It prints each border, each answer of the analyst, and at the end the report.
import { parseArgs } from 'node:util'
import { createRuntime } from '@ku0/agent-runtime'
import { answer, analyst } from './analyst.ts'
import { audit, tasks } from './audit.ts'
import { onBorders } from './borders.ts'
import { evaluate, evaluatePaper } from './evaluation.ts'
import type { Scope } from './target.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'die-at': { type: 'string' } },
})
const [database, scope = '{}'] = positionals

await using runtime = await createRuntime({ store: `sqlite:${database}`, tasks, start: false, logger: false })
onBorders(runtime, (border) => {
  console.log(`border: ${border}`)
  if (border === values['die-at']) process.kill(process.pid, 'SIGKILL')
})

// The analyst looks at her desk when she comes to work and when somebody asks: one look after the other.
let desk = Promise.resolve()
function look(): void {
  const before = desk
  desk = (async () => {
    await before
    for (const key of await answer(runtime)) console.log(`${analyst} was asked: ${key}`)
  })()
}
runtime.on('approval.requested', look)

// The next process submits the same: the key finds the task of the first.
const receipt = await runtime.submit(audit, JSON.parse(scope) as Scope, { idempotencyKey: 'audit' })
await runtime.start()
look()
const { report } = await runtime.result(receipt)
await desk
const status = await runtime.status(receipt)
const took = status?.state === 'completed' ? status.finishedAt - status.submittedAt : 0
const { composite, reputation } = await evaluate(runtime, receipt.taskId, report, took)
console.log(`report: ${JSON.stringify(report)}`)
console.log(`scores: ${JSON.stringify({ composite, reputation, paper: await evaluatePaper(runtime) })}`)
