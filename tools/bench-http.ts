// Measures submissions over HTTP: a server in one process, whoever asks it in this one.
//
//   node tools/bench-http.ts [--seconds 5] [--in-flight 50] [--batch 100] [--memory]
//
// Each submission is durable before it is answered, unless --memory says that the store is one in memory. Processor time is that of all
// threads of a process.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    'in-flight': { type: 'string', default: '50' },
    batch: { type: 'string', default: '100' },
    memory: { type: 'boolean', default: false },
  },
})
const seconds = Number(values.seconds)
const inFlight = Number(values['in-flight'])
const batch = Number(values.batch)

const bin = resolve(import.meta.dirname, '../packages/agent-runtime-cli/bin/agent-runtime.mjs')
const folder = mkdtempSync(join(tmpdir(), 'bench-http-'))
const store = values.memory ? 'sqlite::memory:' : `sqlite:${join(folder, 'it.db')}`
writeFileSync(
  join(folder, 'agent-runtime.config.mjs'),
  'export default { config: { queueDepthLimit: 1_000_000 } }\n',
)
const server = spawn(
  process.execPath,
  [bin, 'serve', '--store', store, '--port', '0', '--json', '--no-console'],
  { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
)
try {
  const lines = createInterface(server.stdout)[Symbol.asyncIterator]()
  const { value } = await lines.next()
  const { port } = JSON.parse(String(value)) as { port: number }
  console.log(
    `load ${loadavg()
      .map((it) => it.toFixed(1))
      .join(
        ' ',
      )}, ${inFlight} in flight, ${seconds} s each, store ${values.memory ? 'in memory' : 'durable'}`,
  )
  const one = { task: 'bench', input: { n: 1 } }
  await measure(port, 'warm-up', '/tasks', one, 1, 2)
  await measure(port, 'POST /tasks', '/tasks', one, 1, seconds)
  const many = { tasks: Array.from({ length: batch }, () => one) }
  await measure(port, `POST /tasks:batch of ${batch}`, '/tasks:batch', many, batch, seconds)
} finally {
  server.kill('SIGTERM')
  await once(server, 'exit')
  rmSync(folder, { recursive: true, force: true })
}

async function measure(
  port: number,
  name: string,
  path: string,
  body: object,
  tasks: number,
  lasting: number,
) {
  const text = JSON.stringify(body)
  const request = Buffer.from(
    `POST /api/v1${path} HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
  const sockets = await Promise.all(Array.from({ length: inFlight }, () => opened(port)))
  const waits: number[] = []
  const before = await commitsOf(port)
  const cpu = { server: cpuOf(server.pid as number), client: process.cpuUsage() }
  const began = performance.now()
  const until = began + lasting * 1_000
  await Promise.all(sockets.map((socket) => askAgain(socket, request, until, waits)))
  const took = (performance.now() - began) / 1_000
  const submitted = waits.length * tasks
  const commits = (await commitsOf(port)) - before
  const per = (cpuSeconds: number) => ((cpuSeconds / submitted) * 10_000).toFixed(2)
  const { user, system } = process.cpuUsage(cpu.client)
  const sorted = waits.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1)
  console.log(
    `${name}: ${Math.round(submitted / took)} tasks/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; CPU s a 10 000 tasks: server ${per(
      cpuOf(server.pid as number) - cpu.server,
    )}, client ${per((user + system) / 1e6)}; ${(submitted / commits).toFixed(1)} tasks a commit`,
  )
  for (const socket of sockets) socket.destroy()
}

async function commitsOf(port: number): Promise<number> {
  const { commits } = (await (await fetch(`http://localhost:${port}/api/v1/stats`)).json()) as {
    commits: number
  }
  return commits
}

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  await once(socket, 'connect')
  return socket
}

/** Sends the request, reads the answer to its end, and sends it again, until it is time. */
function askAgain(socket: Socket, request: Buffer, until: number, waits: number[]): Promise<void> {
  return new Promise((done, fail) => {
    let sentAt = performance.now()
    let seen = ''
    socket.on('error', fail)
    socket.on('close', () => fail(new Error('the server closed a connection')))
    socket.on('data', (part) => {
      seen += part.toString('latin1')
      const head = seen.indexOf('\r\n\r\n')
      if (head === -1) return
      const length = Number(/content-length: (\d+)/i.exec(seen.slice(0, head))?.[1] ?? Number.NaN)
      const isChunked = Number.isNaN(length)
      if (isChunked ? !seen.endsWith('0\r\n\r\n') : seen.length < head + 4 + length) return
      if (!seen.startsWith('HTTP/1.1 201')) return fail(new Error(seen))
      seen = ''
      const now = performance.now()
      waits.push(now - sentAt)
      if (now >= until) return done()
      sentAt = now
      socket.write(request)
    })
    socket.write(request)
  })
}

/** Seconds of processor time that a process has used, with its threads. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
