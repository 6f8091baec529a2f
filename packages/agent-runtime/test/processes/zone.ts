// A process in the time zone given, on the database given: says which hour its clock shows at the epoch, and the times that it sees.
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

const [database = '', zone = ''] = process.argv.slice(2)
process.env['TZ'] = zone
const nightly = defineTask({ type: 'nightly', input: z.null() }, () => {})
await using runtime = await createRuntime({
  store: `sqlite:${database}`,
  tasks: [nightly],
  workers: 0,
  logger: false,
})
const { schedules } = runtime
await schedules.put('paris', { cron: '30 2 * * *', timeZone: 'Europe/Paris' }, nightly, null)
await schedules.put('plain', { cron: '30 2 * * *' }, nightly, null)
const dueAt = new Date(2_000_000_000_000)
await runtime.submit(nightly, null, { taskId: 'later', idempotencyKey: 'later', dueAt })
const times = [await schedules.get('paris'), await schedules.get('plain')].map((it) => it?.nextAt)
console.log(`hour ${new Date(0).getHours()}`)
console.log(`times ${JSON.stringify([...times, await runtime.status('later')])}`)
