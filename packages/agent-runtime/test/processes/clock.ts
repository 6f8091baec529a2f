// A process that puts a schedule of one second on the database given, and says which times it runs.
//
//   --die-after N    kill -9 itself in its N-th run
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'die-after': { type: 'string' } },
})
const [database = ''] = positionals
let runs = 0

const tick = defineTask({ type: 'tick', input: z.null() }, (ctx) => {
  runs += 1
  console.log(`ran ${runs}, for ${ctx.scheduledFor ?? 'nothing'}`)
  if (runs === Number(values['die-after'])) process.kill(process.pid, 'SIGKILL')
})

const runtime = await createRuntime({ store: `sqlite:${database}`, tasks: [tick], logger: false })
await runtime.schedules.put('clock', { everyMs: 1_000 }, tick, null, { catchUp: 'all' })
console.log('ready')
