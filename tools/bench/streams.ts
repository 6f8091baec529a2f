// Measures streams of server-sent events: the server in one process, its readers in another.
//
//   node tools/bench/streams.ts [--idle 2000] [--busy 200] [--events 2000]
//
// `idle`: streams of tasks that wait. What they cost is the memory of the server's process alone, with them and before them, each after
// a collection of garbage. `busy`: readers of one task that emits as fast as it can; each of them gets every value, in order.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type * as Runtime from '../../packages/agent-runtime/src/index.ts'
import type * as Server from '../../packages/agent-runtime-server/src/index.ts'
import { Processes } from './run/processes.ts'
import { anyNumber, sourcesOf } from './sources.ts'

type Asked =
  | { readonly ask: 'idle'; readonly streams: number }
  | { readonly ask: 'busy'; readonly streams: number; readonly events: number }
  | { readonly ask: 'collect' }
  | { readonly ask: 'emit'; readonly taskId: string }
interface Said {
  readonly url?: string
  readonly heapMiB?: number
  readonly ms?: number
}

const TASKS = 100
const [role, place = ''] = process.argv.slice(2)
// A measurement that fails leaves no process behind.
if (process.send !== undefined) process.once('disconnect', () => process.exit(1))
if (role === 'server') await beServer(place)
else if (role === 'readers') beReaders(place)
else await measure()

function say(it: Said): void {
  process.send?.(it)
}

async function beServer(store: string): Promise<void> {
  const { createRuntime, defineTask } = await sourcesOf<typeof Runtime>('agent-runtime')
  const { serve } = await sourcesOf<typeof Server>('agent-runtime-server')
  const runtime = await createRuntime({
    store,
    tasks: [
      defineTask({ type: 'wait', input: anyNumber }, async (ctx) => ctx.waitForSignal('go')),
      defineTask({ type: 'speak', input: anyNumber }, async (ctx, count) => {
        await ctx.waitForSignal('go')
        for (let n = 1; n <= Number(count); n += 1) await ctx.emit({ n, text: 'a word of a model' })
      }),
    ],
    logger: false,
    strict: false,
    telemetry: false,
  })
  const { url } = await serve(runtime, {
    port: 0,
    limits: { maxStreams: 10_000, maxStreamsPerToken: 10_000, maxRequestsPerSecond: 1_000_000 },
  })
  for (let n = 0; n < TASKS; n += 1) await runtime.submit('wait', 0, { taskId: `wait-${n}` })
  process.on('message', (asked: Asked) => {
    if (asked.ask === 'collect') {
      globalThis.gc?.()
      globalThis.gc?.()
      say({ heapMiB: process.memoryUsage().heapUsed / 1_048_576 })
    }
    if (asked.ask === 'emit') void runtime.signal(asked.taskId, 'go')
    if (asked.ask === 'busy')
      void runtime.submit('speak', asked.events, { taskId: 'speak' }).then(() => say({}))
  })
  say({ url })
}

function beReaders(url: string): void {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity })
  process.on('message', (asked: Asked) => {
    if (asked.ask === 'idle') void openIdle(asked.streams).then(() => say({}))
    if (asked.ask === 'busy') void readAll(asked.streams, asked.events)
  })
  say({})

  /** As many as come at once to a server that has just started again: 100. */
  async function openIdle(streams: number): Promise<void> {
    for (let n = 0; n < streams; n += 100)
      await Promise.all(
        Array.from({ length: Math.min(100, streams - n) }, async (_, at) =>
          opened(`tasks/wait-${(n + at) % TASKS}/events`),
        ),
      )
  }

  async function readAll(streams: number, events: number): Promise<void> {
    const all = await Promise.all(Array.from({ length: streams }, async () => opened('tasks/speak/output')))
    say({})
    await Promise.all(all.map(async (it) => inOrder(it, events)))
    say({})
  }

  function opened(path: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = { accept: 'text/event-stream' }
      request(`${url}/api/v1/${path}`, { agent, headers }, (answer) => {
        if (answer.statusCode !== 200) reject(new Error(`${path} answered ${answer.statusCode ?? '?'}`))
        // The first bytes are there: the stream is open at both ends.
        answer.once('data', () => resolve(answer))
      })
        .once('error', reject)
        .end()
    })
  }

  /** Reads a stream to its end. Throws where a value is missing, or comes twice. */
  async function inOrder(stream: IncomingMessage, events: number): Promise<void> {
    let [text, last] = ['', 0]
    stream.on('data', (part: Buffer) => {
      text += part.toString()
      const whole = text.lastIndexOf('\n\n')
      for (const [, id] of text.slice(0, whole + 2).matchAll(/^id: (\d+)\ndata/gm)) {
        if (Number(id) !== last + 1) throw new Error(`${id} came after ${last}`)
        last += 1
      }
      text = text.slice(whole + 2)
    })
    await once(stream, 'end')
    if (last !== events) throw new Error(`${last} of ${events} came`)
  }
}

async function measure(): Promise<void> {
  const { values } = parseArgs({
    options: {
      idle: { type: 'string', default: '2000' },
      busy: { type: 'string', default: '200' },
      events: { type: 'string', default: '2000' },
    },
  })
  const home = mkdtempSync(join(tmpdir(), 'bench-streams-'))
  const server = started('server', `sqlite:${join(home, 'it.db')}`)
  try {
    const { url = '' } = await said(server)
    const readers = started('readers', url)
    await said(readers)
    try {
      const of = new Processes(server.pid as number)
      const memory = async () => {
        const { heapMiB = Number.NaN } = await askOf(server, { ask: 'collect' })
        return { whole: of.memoryMiB(), heapMiB }
      }
      // What the first requests load is no cost of a stream.
      await askOf(readers, { ask: 'idle', streams: 10 })
      await sleep(500)
      const before = await memory()
      await askOf(readers, { ask: 'idle', streams: Number(values.idle) })
      await sleep(500)
      const after = await memory()
      const healths = await Promise.all(Array.from({ length: 5 }, async () => health(url)))
      const cpu = of.cpuSeconds()
      await sleep(10_000)
      console.log(
        `${values.idle} idle streams: ${(after.whole - before.whole).toFixed(1)} MiB of the server's process (${before.whole.toFixed(1)} before), ` +
          `${(after.heapMiB - before.heapMiB).toFixed(1)} MiB of its heap; /health in ${Math.max(...healths).toFixed(1)} ms; ` +
          `${((of.cpuSeconds() - cpu) * 10).toFixed(1)} % of a core; load ${(loadavg()[0] ?? 0).toFixed(1)}`,
      )
      const [streams, events] = [Number(values.busy), Number(values.events)]
      await askOf(server, { ask: 'busy', streams, events })
      await askOf(readers, { ask: 'busy', streams, events })
      const [at, spent] = [performance.now(), of.cpuSeconds()]
      const all = said(readers)
      server.send({ ask: 'emit', taskId: 'speak' } satisfies Asked)
      const busyHealth = await health(url)
      await all
      const seconds = (performance.now() - at) / 1_000
      console.log(
        `${streams} busy streams of ${events} values: ${Math.round((streams * events) / seconds)} values a second, every one in order, ` +
          `${(((of.cpuSeconds() - spent) / (streams * events)) * 10_000).toFixed(3)} CPU s of the server for 10 000; /health in ${busyHealth.toFixed(1)} ms`,
      )
    } finally {
      await ended(readers)
    }
  } finally {
    await ended(server)
    rmSync(home, { recursive: true, force: true })
  }
}

async function health(url: string): Promise<number> {
  const at = performance.now()
  const { ok } = await fetch(`${url}/health`)
  if (!ok) throw new Error('/health is not well')
  return performance.now() - at
}

function started(...args: readonly string[]): ChildProcess {
  return fork(import.meta.filename, args, {
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
    execArgv: ['--expose-gc'],
  })
}

async function askOf(child: ChildProcess, it: Asked): Promise<Said> {
  const answer = said(child)
  child.send(it)
  return answer
}

async function said(child: ChildProcess): Promise<Said> {
  const over = new AbortController()
  try {
    const [it] = (await Promise.race([
      once(child, 'message', { signal: over.signal }),
      once(child, 'exit', { signal: over.signal }).then(() => Promise.reject(new Error('a process ended'))),
    ])) as [Said]
    return it
  } finally {
    over.abort()
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
