import { createRuntime } from '@ku0/agent-runtime'
import { greet } from './greet.ts'

// In memory: nothing is left behind. `sqlite:hello.db` would be a file, and tasks would survive the process.
await using runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [greet] })

// What the runtime commits, it also publishes.
runtime.on('task.*', ({ type, at }) => console.log(`  ${new Date(at).toISOString()} ${type}`))

const receipt = await runtime.submit(greet, { name: 'world' }, { lane: 'interactive' })
const { text } = await runtime.result(receipt)
console.log(text)

// An input that does not fit is refused, with a word on what would.
const refused = await runtime.submit('greet', { name: 42 })
if (!refused.accepted) console.log(`${refused.reason}: ${refused.message}`)

// The whole history of the task, from the store.
for await (const event of runtime.events(receipt.taskId)) {
  if (event.type === 'step.completed') console.log(`step ${event.data.position}: ${event.data.key}`)
}
