// Serves a store on a free port, starts a worker in Python, kills it in the middle of its task, and starts another.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createClient } from '@ku0/agent-runtime'
import { openStore } from '@ku0/agent-runtime-persistence'
import { hashToken, serve } from '@ku0/agent-runtime-server'

const token = 'ku0_an-example-that-is-long-enough-to-be-one'
// A worker that is silent for this long has lost its tasks. The default is a minute.
const config = { leaseTtlMs: 3_000, heartbeatIntervalMs: 1_000 }
const store = await openStore('sqlite::memory:', { lines: true, config })
const client = await createClient({ store, config })
const server = await serve(client, {
  port: 0,
  remoteWorkers: store,
  tokens: [{ name: 'python', hash: hashToken(token), scopes: ['work'] }],
})

const first = startWorker('first')
const receipt = await client.submit('translate', 'a lamp shines far')
let words = 0
for await (const item of client.output(receipt)) {
  if ('data' in item && ++words === 2) break
}
first.kill('SIGKILL')
console.log('the first worker was killed')

const second = startWorker('second')
await client.signal(receipt, 'approved', 'Ada')
console.log('result:', JSON.stringify(await client.result(receipt)))

second.kill('SIGTERM')
await once(second, 'exit')
await server.close()
await client.close()
await store.close()

function startWorker(name: string): ChildProcess {
  const worker = spawn('python3', [join(import.meta.dirname, '../python/worker.py')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, AGENT_RUNTIME_URL: server.url, AGENT_RUNTIME_TOKEN: token },
  })
  worker.once('error', () => {
    console.error('python3 did not start: install Python 3.9 or later')
    process.exit(1)
  })
  createInterface(worker.stdout).on('line', (line) => console.log(`  ${name} worker: ${line}`))
  return worker
}
