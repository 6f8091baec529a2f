// One process of a crowd on the store at argv[2], with argv[3] runtimes. It says when they are open, and then how many tasks each has run, each time that
// another ends.
import { setTimeout as pass } from 'node:timers/promises'
import { createRuntime } from '@ku0/agent-runtime'
import { brief, roomy } from './brief.ts'

const [store = '', runtimes = '1'] = process.argv.slice(2)
const ran = Array.from({ length: Number(runtimes) }, () => 0)
for (const place of ran.keys()) {
  const task = brief(async () => {
    await pass(20)
    ran[place] = (ran[place] ?? 0) + 1
    process.send?.({ ran })
    return `${process.pid} ${place}`
  })
  await createRuntime({
    store,
    tasks: [task],
    workers: { count: 1, capacity: 2 },
    config: roomy,
    logger: false,
  })
}
process.send?.({ ran })
process.once('disconnect', () => process.exit(0))
