// A finished run of an agent is taken up again at one of its steps, with another result in place of what it had found.
import { createRuntime } from '@ku0/agent-runtime'
import { report } from './report.ts'

await using runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [report], logger: false })

console.log('The run:')
const receipt = await runtime.submit(report, { city: 'Bergen' })
console.log(`  ${await runtime.result(receipt)}`)
const before = await runtime.status(receipt)

console.log('A fork that goes on from "think", as if there had been sun:')
const fork = await runtime.fork(receipt, { fromStep: 'think', edits: { 'look outside': 'sun' } })
console.log(`  ${await runtime.result(fork)}`)

console.log('What the fork did not do itself:')
for await (const { type, data } of runtime.events(fork)) {
  if (type === 'step.inherited') console.log(`  ${data.key}`)
}

const after = await runtime.status(receipt)
console.log(`The run is as it was: ${JSON.stringify(before) === JSON.stringify(after)}`)
