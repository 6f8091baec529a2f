// Runs the agent until it asks a human or is done; then the process ends.
//
//   node agent.ts DATABASE
import { createRuntime } from '@ku0/agent-runtime'
import { announcement } from './announcement.ts'

const store = `sqlite:${process.argv[2]}`
await using runtime = await createRuntime({ store, tasks: [announcement], start: false, logger: false })
const pause = new Promise<void>((tell) => {
  runtime.on('task.waiting', () => tell())
  runtime.on('task.completed', ({ data }) => {
    console.log(`agent: ${JSON.stringify(data.output)}`)
    tell()
  })
})
// The later processes submit the same: the key finds the task of the first.
await runtime.submit(announcement, { product: 'The lamp' }, { idempotencyKey: 'the lamp' })
await runtime.start()
await pause
