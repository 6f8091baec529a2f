// A process that runs the agent, until it is told to stop or dies.
import { createWorker } from '@ku0/agent-runtime'
import { chat } from './chat.ts'

const [, , store = ''] = process.argv
await createWorker({ store: `sqlite:${store}`, tasks: [chat], logger: false })
process.once('disconnect', () => process.exit())
process.send?.('ready')
