import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { createClient } from '@ku0/agent-runtime'
import { expect, onTestFinished, test } from 'vitest'
import { bin, runIn, scratchFolder } from './stores-and-shells.ts'

const counting = join(import.meta.dirname, 'project/counting.ts')
const example = resolve(import.meta.dirname, '../../../examples/11-python-worker/python')
/** Leases outlive a restart of the server, also on a busy machine: so only a killed worker loses them. */
const config = { leaseTtlMs: 5_000, heartbeatIntervalMs: 1_000 }

/** A step prints a line before it returns, and the handler prints one after its result was recorded. */
const program = `
import os, time
from durable import Worker

worker = Worker(os.environ["AGENT_RUNTIME_URL"], os.environ["AGENT_RUNTIME_TOKEN"])

@worker.task("count")
def count(ctx, steps):
    def run(n):
        print(f"{ctx.task_id} ran {n}", flush=True)
        time.sleep(0.02)
        return n
    total = 0
    for n in range(steps):
        total += ctx.step(f"step {n}", lambda: run(n))
        print(f"{ctx.task_id} recorded {n}", flush=True)
    ctx.sleep("pause", 0.05)
    return [total, ctx.effect("effect", lambda key: len(key) > 0)]

worker.run()
`

/** The process of a worker: its command, and what it needs of the environment. */
interface Kind {
  readonly command: string
  readonly args: (url: string) => readonly string[]
  readonly env: Readonly<Record<string, string>>
}

const kinds: Readonly<Record<string, Kind>> = {
  'the Python worker of the example': {
    command: 'python3',
    args: () => ['worker.py'],
    env: { PYTHONPATH: example },
  },
  'agent-runtime worker': {
    command: process.execPath,
    args: (url) => [bin, 'worker', counting, '--store', url],
    env: {},
  },
}

test.each(Object.entries(kinds))(
  '%s repeats no recorded step, however often it and the server are killed',
  async (_, kind) => {
    const folder = scratchFolder()
    const store = `sqlite:${join(folder, 'it.db')}`
    writeFileSync(
      join(folder, 'agent-runtime.config.js'),
      `export default ${JSON.stringify({ store, config })}`,
    )
    writeFileSync(join(folder, 'worker.py'), program)
    const token = (await runIn({ folder }, 'token', 'create', 'python', '--scopes', 'work')).out.trim()
    const client = await createClient({ store, config, logger: false })
    onTestFinished(() => client.close())

    const start = (command: string, args: readonly string[], env = {}) => {
      const child = spawn(command, args, {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, NODE_ENV: 'test', ...env },
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      return child
    }
    const serve = async (port: string) => {
      const server = start(process.execPath, [bin, 'serve', '--port', port, '--json'])
      const [line] = (await once(createInterface(server.stdout), 'line')) as [string]
      return { server, url: (JSON.parse(line) as { readonly url: string }).url }
    }
    const lines: string[] = []
    let seen = () => {}
    const work = (url: string) => {
      const env = { AGENT_RUNTIME_URL: url, AGENT_RUNTIME_TOKEN: token, ...kind.env }
      const worker = start(kind.command, kind.args(url), env)
      createInterface(worker.stdout).on('line', (line) => {
        lines.push(line)
        seen()
      })
      return worker
    }
    const recorded = (count: number) =>
      new Promise<void>((resolved) => {
        seen = () => {
          if (lines.filter((line) => line.includes('recorded')).length >= count) resolved()
        }
        seen()
      })
    const kill = async (child: ChildProcess) => {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }

    let { server, url } = await serve('0')
    const { port } = new URL(url)
    let worker = work(url)
    const receipts = await client.submitMany(
      Array.from({ length: 8 }, () => ({ task: 'count', input: 5 }) as const),
    )
    await recorded(6)
    await kill(server)
    ;({ server, url } = await serve(port))
    await recorded(12)
    await kill(worker)
    worker = work(url)
    await recorded(20)
    await kill(server)
    await kill(worker)
    ;({ server, url } = await serve(port))
    worker = work(url)

    for (const receipt of receipts) expect(await client.result(receipt)).toEqual([10, true])
    expect(lines.length).toBeGreaterThanOrEqual(8 * 5 * 2)
    const repeated = lines.filter(
      (line, at) =>
        line.includes(' ran ') && lines.slice(0, at).includes(line.replace(' ran ', ' recorded ')),
    )
    expect(repeated).toEqual([])
    // Four tasks run at once. A worker that is killed loses what each was at, and a server that is killed loses
    // what they report meanwhile if it stays away for longer than their leases: three times something was killed.
    expect(lines.filter((line) => line.includes('ran')).length).toBeLessThanOrEqual(8 * 5 + 3 * 4)
    await kill(worker)
    await kill(server)
    expect((await runIn({ folder }, 'verify')).code).toBe(0)
  },
)

test('the Python worker of the example ends when it is stopped, also while no server answers', async () => {
  const gone = createServer()
  gone.listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  const stops = `
import threading
from durable import Worker

worker = Worker("http://127.0.0.1:${port}")
threading.Thread(target=lambda: (input(), worker.stop())).start()
worker.run()
print("ended", flush=True)
`
  // A request is on its way when the server dies, so the worker is in the middle of asking.
  gone.once('connection', (socket) => {
    socket.destroy()
    gone.close()
  })
  const worker = spawn('python3', ['-c', stops], { env: { ...process.env, PYTHONPATH: example } })
  onTestFinished(() => void worker.kill('SIGKILL'))
  const lines: string[] = []
  createInterface(worker.stdout).on('line', (line) => lines.push(line))
  // It says once that nobody answers.
  await once(createInterface(worker.stderr), 'line')
  worker.stdin.write('\n')
  expect([await once(worker, 'exit'), lines]).toEqual([[0, null], ['ended']])
})
