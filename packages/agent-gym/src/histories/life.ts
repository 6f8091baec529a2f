// One life of a process that works on a store and uses it, and records all that it does and hears. It ends by itself once it has made its calls,
// unless its parent kills it first. Without calls to make it brings everything to its end.
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime } from '@ku0/agent-runtime'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { seededRandom } from '../work/random.ts'
import { HistoryClient, historyTask } from './client.ts'
import { historyConfig } from './config.ts'
import { RecordedStore } from './recorded-store.ts'
import { Recorder } from './recorder.ts'

const [folder = '', name = '', seed = '1', tasks = '1', calls = '0', url = ''] = process.argv.slice(2)
const recorder = new Recorder(`${folder}/${name}.jsonl`)
const { config } = parseExecutionConfig(historyConfig)
const store = await openStore(url, { config })
const runtime = await createRuntime({
  strict: false,
  store: new RecordedStore(store, recorder),
  tasks: [historyTask(recorder, name)],
  workers: { count: 1, capacity: 4 },
  logger: false,
})
process.stdout.write('open\n')

const clients = Array.from({ length: 3 }, (_, i) => {
  const random = seededRandom(Number(seed), `${name} client ${i}`)
  return { random, client: new HistoryClient(runtime, recorder, random, `${name}/${i}`) }
})
await Promise.all(
  clients.map(async ({ random, client }) => {
    for (let call = 0; call < Number(calls); call += 1) {
      await client.act(random.int(0, Number(tasks) - 1))
      await sleep(random.int(0, 6))
    }
  }),
)
if (Number(calls) === 0) await finish()
await runtime.stop({ graceMs: 50 })
await store.close()

/** Every task hears what it waits for, and ends. */
async function finish(): Promise<void> {
  for (;;) {
    const open = (await runtime.list({ limit: 1000 })).tasks.filter(
      ({ state }) => state === 'queued' || state === 'running' || state === 'waiting',
    )
    if (open.length === 0) break
    for (const { taskId, state } of open) if (state === 'waiting') await clients[0]?.client.signal(taskId)
    await sleep(20)
  }
}
