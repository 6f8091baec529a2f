// A process without a database that runs tasks of the server given: one that it has begun never ends.
import { createWorker, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

const [store = ''] = process.argv.slice(2)
const held = defineTask({ type: 'held', input: z.null() }, () => {
  console.log('begun')
  return new Promise<never>(() => {})
})
await createWorker({ store, tasks: [held], logger: false, telemetry: false })
