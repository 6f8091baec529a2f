// One process of a crowd on the store at argv[2]. It says when it is open, and then how many tasks it has run, each time that another ends.
import { setTimeout as pass } from 'node:timers/promises'
import { createRuntime } from '@ku0/agent-runtime'
import { brief } from './brief.ts'

let ran = 0
const task = brief(async () => {
  await pass(20)
  ran += 1
  process.send?.({ ran })
  return process.pid
})
await createRuntime({
  store: process.argv[2] ?? '',
  tasks: [task],
  workers: { count: 1, capacity: 2 },
  logger: false,
})
process.send?.({ ran })
process.once('disconnect', () => process.exit(0))
