// Measures submissions over HTTP, 50 in flight, on this runtime's server and on Restate's ingress, whose answers both mean that the task is on
// disk. They take turns; the requests come from this process, and each server has a process of its own. A bare server of Node, which parses the body
// and answers as much, shows what the machine and Node allow.
//
//   node tools/bench/http.ts [--requests 20000] [--warm-up 5000] [--rounds 4] [--own] [--only text]
//
// `pnpm bench` has to have run once: it installs Restate's server, which `--own` leaves out.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type * as Runtime from '../../packages/agent-runtime/src/index.ts'
import type * as Server from '../../packages/agent-runtime-server/src/index.ts'
import { systems } from './registry.ts'
import { Processes } from './run/processes.ts'
import { startRestate } from './servers/restate.ts'
import { median } from './statistics.ts'
import { nothing } from './system.ts'
import { anyNumber, sourcesOf } from './sources.ts'

/** A server that takes submissions. */
interface Target {
  readonly url: string
  readonly body: (n: number) => string
  readonly pids: readonly number[]
  readonly stop: () => Promise<void>
}

interface Found {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of the server, the process of its handlers included. */
  readonly serverCpuPer10000: number
  /** Of this process, which makes the requests. */
  readonly loadCpuPer10000: number
}

const IN_FLIGHT = 50

async function serveOwn(store: string, runs: boolean): Promise<void> {
  const { createRuntime, defineTask } = await sourcesOf<typeof Runtime>('agent-runtime')
  const { serve } = await sourcesOf<typeof Server>('agent-runtime-server')
  const runtime = await createRuntime({
    store,
    tasks: [defineTask({ type: 'work', input: anyNumber }, () => null)],
    config: { queueDepthLimit: 10_000_000, batchBackpressureThreshold: 10_000_000 },
    workers: runs ? 1 : 0,
    logger: false,
    strict: false,
    telemetry: false,
  })
  const server = await serve(runtime, { port: 0, limits: { maxRequestsPerSecond: 1_000_000 } })
  process.send?.({ url: server.url })
}

/** As little as a server can do that reads JSON and answers with JSON. */
async function serveBare(): Promise<void> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { input } = JSON.parse(Buffer.concat(parts).toString()) as { readonly input: unknown }
      const body = JSON.stringify({ accepted: true, taskId: `task ${String(input)}`, deduplicated: false })
      response.writeHead(201, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      })
      response.end(body)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

/** The process that Restate calls to run what was submitted. */
async function serveForRestate(url: string): Promise<void> {
  const system = systems.find(({ id }) => id === 'restate')
  if (system === undefined) throw new Error('the registry has no restate')
  const open = await system.load()
  const connection = await open({ place: { folder: '', url }, job: nothing })
  await connection.start()
  process.send?.({ url })
}

async function measure(): Promise<void> {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '20000' },
      'warm-up': { type: 'string', default: '5000' },
      rounds: { type: 'string', default: '4' },
      own: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
    },
  })
  const home = mkdtempSync(join(tmpdir(), 'bench-http-'))
  const all: Readonly<Record<string, (folder: string) => Promise<Target>>> = {
    'this runtime, submissions only': (folder) => startOwn(folder, false),
    'this runtime, running them too': (folder) => startOwn(folder, true),
    'a bare server, which stores nothing': startBareTarget,
    ...(values.own ? {} : { 'Restate, which runs them too': startRestateTarget }),
  }
  const targets = Object.entries(all).filter(([name]) => name.includes(values.only))
  const runs = new Map(targets.map(([name]) => [name, [] as Found[]]))
  try {
    for (let round = 0; round < Number(values.rounds); round += 1)
      for (const [name, start] of targets) {
        const folder = join(home, 'run')
        mkdirSync(folder)
        const target = await start(folder)
        try {
          await load(target, Number(values['warm-up']), 0)
          const found = await load(target, Number(values.requests), Number(values['warm-up']))
          runs.get(name)?.push(found)
          console.log(JSON.stringify({ name, ...found, load: loadavg()[0] }))
        } finally {
          await target.stop()
          rmSync(folder, { recursive: true, force: true })
        }
      }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
  for (const [name, found] of runs) {
    const of = (figure: keyof Found) => median(found.map((it) => it[figure]))
    console.log(
      `${name}: ${Math.round(of('perSecond'))} a second, p50 ${of('p50Ms').toFixed(1)} ms, p99 ${of('p99Ms').toFixed(1)} ms, ${of('serverCpuPer10000').toFixed(2)} CPU s of the server for 10 000, ${of('loadCpuPer10000').toFixed(2)} of the requests`,
    )
  }
}

async function startOwn(folder: string, runs: boolean): Promise<Target> {
  const { child, url } = await started('own', `sqlite:${join(folder, 'it.db')}`, ...(runs ? ['runs'] : []))
  return {
    url: `${url}/api/v1/tasks`,
    body: (n) => JSON.stringify({ task: 'work', input: n }),
    pids: [child.pid as number],
    stop: () => ended(child),
  }
}

async function startBareTarget(): Promise<Target> {
  const { child, url } = await started('bare')
  return {
    url: `${url}/`,
    body: (n) => JSON.stringify({ task: 'work', input: n }),
    pids: [child.pid as number],
    stop: () => ended(child),
  }
}

async function startRestateTarget(folder: string): Promise<Target> {
  const server = await startRestate(folder)
  const { child } = await started('service', server.url)
  return {
    url: `${new URL(server.url).origin}/bench/work/send`,
    body: (n) => JSON.stringify(n),
    pids: [server.pid, child.pid as number],
    stop: async () => {
      await ended(child)
      await server.stop()
    },
  }
}

async function started(
  ...args: readonly string[]
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  // Restate's SDK writes two lines for each task.
  const child = fork(import.meta.filename, args, {
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [said] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() =>
      Promise.reject(new Error(`the process '${args[0] ?? ''}' ended at its start`)),
    ),
  ])) as [{ readonly url: string }]
  return { child, url: said.url }
}

async function ended(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Sends so many requests, each lane the next one when it has its answer. */
async function load({ url, body, pids }: Target, count: number, from: number): Promise<Found> {
  const cpu = () => pids.reduce((sum, pid) => sum + new Processes(pid).cpuSeconds(), 0)
  const lanes = await Promise.all(Array.from({ length: IN_FLIGHT }, () => Lane.open(new URL(url))))
  const times: number[] = []
  let next = 0
  const drive = async (lane: Lane) => {
    while (next < count) {
      next += 1
      const at = performance.now()
      await lane.post(body(from + next))
      times.push(performance.now() - at)
    }
  }
  const [cpuBefore, ownBefore, at] = [cpu(), process.cpuUsage(), performance.now()]
  await Promise.all(lanes.map(drive))
  const seconds = (performance.now() - at) / 1_000
  const [spent, own] = [cpu() - cpuBefore, process.cpuUsage(ownBefore)]
  for (const lane of lanes) lane.close()
  times.sort((a, b) => a - b)
  const quantile = (share: number) => times[Math.floor((times.length - 1) * share)] ?? Number.NaN
  return {
    perSecond: count / seconds,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    serverCpuPer10000: (spent / count) * 10_000,
    loadCpuPer10000: ((own.user + own.system) / 1e6 / count) * 10_000,
  }
}

/**
 * A connection that is kept, with one request at a time. Node's own client costs as much processor time for a request as the server does, and shares
 * the machine with it: this one writes the bytes of a request and looks for the end of the answer.
 */
class Lane {
  readonly #socket: Socket
  readonly #url: URL
  #text = ''
  #answered: ((text: string) => void) | undefined
  #refused: ((error: Error) => void) | undefined

  private constructor(socket: Socket, url: URL) {
    this.#socket = socket
    this.#url = url
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    socket.on('data', (part: string) => {
      this.#text += part
      if (!isWhole(this.#text)) return
      const text = this.#text
      this.#text = ''
      this.#answered?.(text)
    })
    socket.on('error', (error) => this.#refused?.(error))
    socket.on('close', () => this.#refused?.(new Error(`${url.href} closed the connection`)))
  }

  static async open(url: URL): Promise<Lane> {
    const socket = connect(Number(url.port), url.hostname)
    await once(socket, 'connect')
    return new Lane(socket, url)
  }

  async post(body: string): Promise<void> {
    const text = await new Promise<string>((answered, refused) => {
      this.#answered = answered
      this.#refused = refused
      const { pathname, host } = this.#url
      this.#socket.write(
        `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    })
    if (!/^HTTP\/1\.1 20[012] /.test(text))
      throw new Error(`${this.#url.href} answered ${text.slice(0, text.indexOf('\r'))}`)
  }

  close(): void {
    this.#refused = undefined
    this.#socket.destroy()
  }
}

/** Whether a text has the head of an answer, and the body that it announces. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text.slice(0, end + 2))?.[1]
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= end + 4 + Number(length)
}

// At the end of the file, where the class of the connections is there.
const [role, argument = ''] = process.argv.slice(2)
if (role === 'own') await serveOwn(argument, process.argv[4] === 'runs')
else if (role === 'bare') await serveBare()
else if (role === 'service') await serveForRestate(argument)
else await measure()
