// Measures how fast several processes of this runtime drain one queue on one PostgreSQL. Each is told apart from its start: the clock runs once
// the first tasks are done, `--warm-up` for each process, with which their code has been compiled.
//
//   node tools/bench/shared.ts [--tasks 20000] [--warm-up 3000] [--processes 1,2,4,8] [--rounds 2]
//
// `pnpm bench` has to have run once: it installs the server.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systems } from './registry.ts'
import { Processes } from './run/processes.ts'
import { PostgresServers } from './servers/postgres.ts'
import type { Server } from './servers/server.ts'
import { median } from './statistics.ts'
import { nothing } from './system.ts'

/** What a process says: that it is open, or how many tasks it has run and when it ran the last, on the clock of the machine. */
type Said = { readonly ready: true } | { readonly handled: number; readonly at: number }

const system = systems.find(({ id }) => id === 'ku0-postgres-sources')
const clock = () => Number(process.hrtime.bigint()) / 1e6

const [role, url = ''] = process.argv.slice(2)
if (role === 'fill') await fill(url, Number(process.argv[4]))
else if (role === 'drain') await drain(url)
else await measure()

async function open(store: string, ended?: () => void) {
  if (system === undefined) throw new Error('the registry has no ku0-postgres-sources')
  const connect = await system.load()
  const place = { folder: '', url: store }
  return connect(ended === undefined ? { place } : { place, job: { ...nothing, ended } })
}

async function fill(store: string, count: number): Promise<void> {
  const connection = await open(store)
  for (let from = 0; from < count; from += 1_000)
    await connection.submitMany?.(Array.from({ length: Math.min(1_000, count - from) }, (_, n) => from + n))
  await connection.close()
  process.exit(0)
}

async function drain(store: string): Promise<void> {
  let [handled, at] = [0, 0]
  const say = (said: Said) => process.send?.(said)
  const connection = await open(store, () => {
    handled += 1
    at = clock()
  })
  say({ ready: true })
  await once(process, 'message')
  await connection.start()
  let told = 0
  // One that waits for its turn has nothing to say.
  setInterval(() => {
    if (handled > told) say({ handled, at })
    told = handled
  }, 25)
  process.once('disconnect', () => process.exit(0))
}

async function measure(): Promise<void> {
  const { values } = parseArgs({
    options: {
      tasks: { type: 'string', default: '20000' },
      'warm-up': { type: 'string', default: '3000' },
      processes: { type: 'string', default: '1,2,4,8' },
      rounds: { type: 'string', default: '2' },
    },
  })
  const home = mkdtempSync(join(tmpdir(), 'bench-shared-'))
  const servers = new PostgresServers(home)
  const counts = values.processes.split(',').map(Number)
  const rates = new Map(counts.map((count) => [count, [] as number[]]))
  try {
    for (let round = 0; round < Number(values.rounds); round += 1)
      for (const count of counts) {
        const name = `${round}-${count}`
        const server = await servers.start(name)
        try {
          const found = await drained(server, Number(values.tasks), Number(values['warm-up']) * count, count)
          rates.get(count)?.push(found.perSecond)
          console.log(JSON.stringify({ processes: count, ...found, load: loadavg()[0] }))
        } finally {
          await server.stop()
          rmSync(join(home, name), { recursive: true, force: true })
        }
      }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
  for (const [count, all] of rates)
    console.log(`${count} processes: ${Math.round(median(all))} tasks a second`)
}

function start(...args: readonly string[]): ChildProcess {
  return fork(import.meta.filename, args, {
    env: { ...process.env, NODE_ENV: 'production', NODE_NO_WARNINGS: '1' },
  })
}

async function drained(server: Server, tasks: number, warmUp: number, count: number) {
  await once(start('fill', server.url, String(warmUp + tasks)), 'exit')
  const cpuSeconds = () => ({
    server: new Processes(server.pid).cpuSeconds(),
    clients: sum(children.map(({ pid }) => new Processes(pid ?? 0).cpuSeconds())),
  })
  const children = Array.from({ length: count }, () => start('drain', server.url))
  const latest = new Map<ChildProcess, { readonly handled: number; readonly at: number }>()
  const handled = () => sum([...latest.values()].map((it) => it.handled))
  const all = Promise.withResolvers<void>()
  let began:
    | { readonly at: number; readonly handled: number; readonly spent: ReturnType<typeof cpuSeconds> }
    | undefined
  const isReady = children.map((child) => {
    const ready = Promise.withResolvers<void>()
    child.on('message', (said: Said) => {
      if ('ready' in said) ready.resolve()
      else latest.set(child, said)
      if (handled() >= warmUp) began ??= { at: clock(), handled: handled(), spent: cpuSeconds() }
      if (handled() >= warmUp + tasks) all.resolve()
    })
    child.once('exit', () => all.reject(new Error('a process ended before the queue was empty')))
    return ready.promise
  })
  await Promise.all(isReady)
  for (const child of children) child.send('start')
  let spent: ReturnType<typeof cpuSeconds>
  try {
    await all.promise
    spent = cpuSeconds()
  } finally {
    for (const child of children) child.removeAllListeners('exit').kill('SIGKILL')
  }
  if (began === undefined) throw new Error('the clock was never started')
  const measured = handled() - began.handled
  const ended = Math.max(...[...latest.values()].map(({ at }) => at))
  const before = began.spent
  const microseconds = (of: keyof typeof spent) => ((spent[of] - before[of]) * 1e6) / measured
  const [ofServer, ofClients] = [microseconds('server'), microseconds('clients')]
  return {
    perSecond: measured / ((ended - began.at) / 1_000),
    /** Of all processes and the server, for each task. */
    cpuMicroseconds: ofServer + ofClients,
    ofServer,
    ofClients,
    handled: [...latest.values()].map((it) => it.handled),
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
