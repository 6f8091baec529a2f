// A process that surveys the sources of this repository. It says which steps it begins, and can be told to die.
//
//   node surveyor.ts DATABASE [--die-after STEPS]
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createRuntime } from '@ku0/agent-runtime'
import { surveyTask } from './survey.ts'

const packages = [
  'agent-runtime-core',
  'agent-runtime-persistence',
  'agent-runtime-telemetry',
  'agent-runtime',
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'die-after': { type: 'string', default: 'Infinity' } },
})
let stepsLeft = Number(values['die-after'])

const survey = surveyTask({
  async begins(name, key) {
    console.log(`begins: ${name}: ${key}`)
    await sleep(60 + 40 * packages.indexOf(name))
  },
  done() {
    stepsLeft -= 1
    if (stepsLeft === 0) process.kill(process.pid, 'SIGKILL')
  },
})

await using runtime = await createRuntime({
  store: `sqlite:${positionals[0]}`,
  tasks: [survey],
  logger: false,
})
runtime.on('step.replayed', ({ taskId, data }) => console.log(`from the store: ${taskId}: ${data.key}`))

// The second process submits the same: the idempotency keys find the tasks of the first.
const receipts = await runtime.submitMany(
  packages.map((name) => ({
    task: survey,
    input: { name },
    options: { taskId: name, idempotencyKey: name },
  })),
)
for (const receipt of receipts) {
  console.log(`result: ${receipt.taskId}: ${JSON.stringify(await runtime.result(receipt))}`)
}
