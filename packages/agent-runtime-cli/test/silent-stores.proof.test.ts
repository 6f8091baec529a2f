import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createClient } from '@ku0/agent-runtime'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../../agent-gym/src/place/postgres-server.ts'
import { bin, scratchFolder } from './stores-and-shells.ts'

const slow = { timeout: 240_000 }

/** Grace times that a test can wait for: 4 s and the half second of the last writes. */
const settings = `
export default {
  config: { drainGraceMs: 2_000, killGraceMs: 1_000, cleanupTimeoutMs: 1_000 },
}
`
/** A task that runs until its process ends. */
const module = `
import { once } from 'node:events'
import { defineTask } from '${import.meta.resolve('@ku0/agent-runtime')}'
import { z } from '${import.meta.resolve('zod')}'

export const held = defineTask({ type: 'held', input: z.null() }, async () => {
  console.log(JSON.stringify({ type: 'runs' }))
  await new Promise(() => setInterval(() => undefined, 1_000))
})
`

function project(): string {
  const folder = scratchFolder()
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tasks.ts'), module)
  writeFileSync(join(folder, 'agent-runtime.config.ts'), settings)
  return folder
}

/** A process of the command line: its lines of JSON, and what it wrote besides. */
function start(folder: string, ...args: string[]) {
  const child = spawn(process.execPath, [bin, ...args, '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'test' },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let rest = ''
  const said: string[] = []
  child.stderr.on('data', (text) => (rest += String(text)))
  const waiting = new Map<string, (line: { readonly url?: string }) => void>()
  createInterface(child.stdout).on('line', (line) => {
    said.push(line)
    const it = JSON.parse(line) as { readonly type: string; readonly url?: string }
    waiting.get(it.type)?.(it)
  })
  /** Resolves at the next line of this type. */
  const heard = (type: string) =>
    new Promise<{ readonly url?: string }>((resolve, reject) => {
      waiting.set(type, resolve)
      child.once('exit', (code) => reject(new Error(`ended with ${code}: ${said.join('\n')} ${rest}`)))
    })
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>
  return { process: child, heard, ended, log: () => `${said.join('\n')}\n${rest}` }
}

/** Asks a worker to end, once; how long that took and how it ended. */
async function terminate(worker: ReturnType<typeof start>) {
  const since = performance.now()
  worker.process.kill('SIGTERM')
  const [code] = await worker.ended
  return { code, seconds: (performance.now() - since) / 1_000 }
}

test.each(['daemon', 'hybrid', 'job'])(
  'a worker whose server is gone ends within its grace times after one SIGTERM: %s',
  slow,
  async (mode) => {
    const folder = project()
    const server = start(folder, 'serve', '--store', 'it.db', '--port', '0')
    const { url = '' } = await server.heard('ready')
    const client = await createClient({ store: `sqlite:${join(folder, 'it.db')}`, logger: false })
    onTestFinished(() => client.close())
    const worker = start(folder, 'worker', 'tasks.ts', '--store', url, '--mode', mode, '--wait', '60s')
    const runs = worker.heard('runs')
    await client.submit('held', null)
    await runs
    server.process.kill('SIGKILL')
    await server.ended
    const { code, seconds } = await terminate(worker)
    expect({ code, log: worker.log() }).toMatchObject({
      code: 143,
      log: expect.stringContaining('the store did not answer in time'),
    })
    // Starting and ending a process on a busy machine takes its time.
    expect(seconds).toBeLessThan(4.5 + 5)
  },
)

test(
  'a worker whose PostgreSQL server is gone ends within its grace times after one SIGTERM',
  slow,
  async () => {
    const folder = project()
    const server = await startPostgres({ fsync: false })
    onTestFinished(server.stop)
    const client = await createClient({ store: server.url, logger: false })
    const worker = start(folder, 'worker', 'tasks.ts', '--store', server.url)
    const runs = worker.heard('runs')
    await client.submit('held', null)
    await runs
    await client.close()
    await server.crash()
    const { code, seconds } = await terminate(worker)
    expect({ code, log: worker.log() }).toMatchObject({
      code: 143,
      log: expect.stringContaining('the store did not answer in time'),
    })
    expect(seconds).toBeLessThan(4.5 + 5)
  },
)
