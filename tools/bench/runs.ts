import { globSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Figures, Role } from './run/messages.ts'
import { RunProcess } from './run/process.ts'
import { PeakMemory, Processes } from './run/processes.ts'
import { PostgresServers } from './servers/postgres.ts'
import { startRedis } from './servers/redis.ts'
import { startRestate } from './servers/restate.ts'
import type { Server } from './servers/server.ts'
import type { Place } from './system.ts'
import type { System } from './registry.ts'

/** What comes before and after the part of a process that has a limit of its own. */
const graceMs = 30_000

/** Gives each run a folder, a server of its own and its processes, and takes all of them away again. */
export class Runs {
  private readonly home: string
  private readonly nodes: Readonly<Record<string, string>>
  private readonly postgres: PostgresServers
  private count = 0

  /** `nodes`: the path of each Node, by its major version; `''` is the one for everybody. */
  constructor(home: string, nodes: Readonly<Record<string, string>>) {
    this.home = home
    this.nodes = nodes
    this.postgres = new PostgresServers(home)
  }

  async with<T>(system: System, use: (run: Run) => Promise<T>): Promise<T> {
    const name = `run-${(this.count += 1)}`
    const folder = join(this.home, name)
    mkdirSync(folder, { recursive: true })
    const node = this.nodes[system.node ?? '']
    if (node === undefined) throw new Error(`Node ${system.node} is not there`)
    const server = await this.serve(system, name, folder)
    const place = { folder, url: server?.url ?? '', ...(server === undefined ? {} : { server: server.pid }) }
    // Tables and indexes, without the log, which PostgreSQL keeps apart.
    const store = system.server === 'postgres' ? join(this.home, `${name}-server`, 'base') : folder
    const run = new Run(system, node, place, server, store)
    try {
      return await use(run)
    } finally {
      await run.end()
      await server?.stop()
      for (const path of [folder, join(this.home, `${name}-server`)])
        rmSync(path, { recursive: true, force: true })
    }
  }

  private serve(system: System, name: string, folder: string): Promise<Server> | undefined {
    switch (system.server) {
      case 'none':
        return undefined
      case 'postgres':
        return this.postgres.start(`${name}-server`)
      case 'redis':
        return startRedis(folder)
      case 'restate':
        return startRestate(folder)
    }
  }
}

/** One run of a workload: processes of one system on one set of data. */
export class Run {
  readonly system: System
  private readonly node: string
  private readonly place: Place
  private readonly server: Processes | undefined
  private readonly store: string
  private readonly started: RunProcess[] = []

  /** `store`: the folder that grows with the tasks. */
  constructor(system: System, node: string, place: Place, server: Server | undefined, store: string) {
    this.system = system
    this.node = node
    this.place = place
    this.store = store
    this.server = server === undefined ? undefined : new Processes(server.pid)
  }

  /** A folder of the run's own. */
  get folder(): string {
    return this.place.folder
  }

  /** How large the store is now. */
  storeBytes(): number {
    return globSync('**', { cwd: this.store, withFileTypes: true })
      .filter((it) => it.isFile())
      .map((it) => statSync(join(it.parentPath, it.name), { throwIfNoEntry: false })?.size ?? 0)
      .reduce((sum, size) => sum + size, 0)
  }

  begin(work: Role): RunProcess {
    // A replay lasts for as long as the requests come.
    const longMs = work.role === 'replay' ? 60_000 : work.role === 'wait' ? 90_000 : 0
    const limitMs = ('limitMs' in work ? work.limitMs : 90_000) + longMs + graceMs
    const begun = new RunProcess(this.node, { system: this.system.id, place: this.place, work }, limitMs)
    this.started.push(begun)
    return begun
  }

  /** Runs a process to its end. What the server did meanwhile is added to its CPU and its memory. */
  async measure(work: Role): Promise<Figures> {
    const { server } = this
    if (server === undefined) return this.begin(work).result
    const [before, peak] = [server.cpuSeconds(), new PeakMemory(server)]
    try {
      const figures = await this.begin(work).result
      const serverCpu = server.cpuSeconds() - before
      const { cpuSeconds, peakMiB } = figures
      if (cpuSeconds === undefined || peakMiB === undefined) return figures
      return { ...figures, cpuSeconds: cpuSeconds + serverCpu, peakMiB: peakMiB + peak.stop() }
    } finally {
      peak.stop()
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.started.map((it) => it.kill()))
  }
}
