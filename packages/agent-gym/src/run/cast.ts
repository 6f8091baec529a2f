import { type HostEnd, HostGone, type HostProcess, startHost } from '../host/host-process.ts'
import type {
  Answer,
  ClosedRuntime,
  HostOptions,
  OpenedRuntime,
  RequestKind,
  Requests,
} from '../host/protocol.ts'
import { leaksBetween, type Leak, type ResourceCount } from '../host/resources.ts'
import type { ProcessLife } from '../measure/measurements.ts'
import type { ProcessSpec } from '../scenario/scenario.ts'
import { slotsOf } from '../scenario/slots.ts'
import { type Chronicle, createChronicle } from './chronicle.ts'
import type { Sightings } from './sightings.ts'

/** The processes of a running scenario, and everything they said. */
export interface Cast {
  /** What they noted. */
  readonly chronicle: Chronicle
  readonly sightings: Sightings
  /** Starts a process of the scenario; resolves when its runtime is open. */
  start(name: string): Promise<void>
  /** Starts the workers of those processes whose workers wait for the first arrivals. */
  startWorkers(): Promise<void>
  ask<K extends RequestKind>(name: string, kind: K, fields: Requests[K]['fields']): Promise<Answer<K>>
  /** Asks any process that answers. */
  askAny<K extends RequestKind>(kind: K, fields: Requests[K]['fields']): Promise<Answer<K>>
  signal(name: string, signal: NodeJS.Signals): void
  /** Resolves when the process is gone. */
  ended(name: string): Promise<void>
  openGate(gate: string): Promise<void>
  /** Closes every process in an orderly way and counts what it left behind. */
  close(): Promise<Closing>
  /** Ends every process at once. */
  kill(): Promise<void>
  lives(): readonly ProcessLife[]
  /** What the first runtime said of itself. */
  readonly store: OpenedRuntime | undefined
  /** Rejects with what a process said when it ended without being asked to. */
  readonly failed: Promise<never>
}

/** What the processes held and counted at their clean end. */
export interface Closing extends Pick<ClosedRuntime, 'staleWrites' | 'visits'> {
  readonly leaks: readonly Leak[]
}

/** What the cast needs of the scenario. */
export interface CastOptions {
  readonly processes: readonly ProcessSpec[]
  readonly mark: string
  readonly compileCache: string
  readonly hostOptions: Omit<HostOptions, 'processName' | 'openGates' | 'startsWorkers'>
  readonly groupOf: (n: number) => string | undefined
}

type Member = {
  readonly spec: ProcessSpec
  readonly life: number
  readonly host: HostProcess
  readonly record: { -readonly [K in keyof ProcessLife]: ProcessLife[K] }
  idle?: ResourceCount
  opening?: Promise<unknown>
  /** Its end is wanted. */
  leaving: boolean
}

export function createCast({ processes, mark, compileCache, hostOptions, groupOf }: CastOptions): Cast {
  const chronicle = createChronicle(groupOf)
  const { sightings } = chronicle
  const members = new Map<string, Member>()
  const lives: ProcessLife[] = []
  const gates = new Set<string>()
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  let store: OpenedRuntime | undefined
  let workersBegan = false

  const specOf = (name: string) => {
    const spec = processes.find((process) => process.name === name)
    if (spec === undefined) throw new Error(`no process ${name}`)
    return spec
  }
  const memberOf = (name: string) => {
    const member = members.get(name)
    if (member === undefined) throw new Error(`process ${name} was never started`)
    return member
  }

  async function start(name: string): Promise<void> {
    const spec = specOf(name)
    const before = members.get(name)
    if (before?.host.alive === true && !before.leaving) throw new Error(`process ${name} runs already`)
    await before?.host.ended
    const life = (before?.life ?? 0) + 1
    const host = startHost({ mark, compileCache, onNotes: (notes) => chronicle.write(name, life, notes) })
    const record = {
      process: name,
      life,
      pid: host.pid,
      capacity: slotsOf(spec, hostOptions.scenario.config),
      spawnedAt: host.spawnedAt,
      openedAt: null,
      workersStartedAt: null,
      terminatedAt: null,
      endedAt: null,
      exitCode: null,
      exitSignal: null,
      closed: false,
    }
    const member: Member = { spec, life, host, record, leaving: false }
    members.set(name, member)
    lives.push(record)
    void host.ended.then((end) => onEnd(member, end))
    const startsWorkers = spec.workers !== undefined && (spec.workersStart === 'at-once' || workersBegan)
    const opening = host.ask('open', {
      options: { ...hostOptions, processName: name, startsWorkers, openGates: [...gates] },
    })
    member.opening = opening
    const opened = await opening
    store ??= opened
    member.record.openedAt = Date.now()
    if (startsWorkers) member.record.workersStartedAt = Date.now()
    // Only a runtime that has nothing to do shows what an idle one holds.
    if (startsWorkers && chronicle.submissions.length === 0) {
      const idle = await host.ask('resources', {}).catch(() => undefined)
      // With the first command it runs a runtime starts a helper and keeps it until it stops: descriptors are compared then.
      if (idle !== undefined && chronicle.submissions.length === 0)
        member.idle = { ...idle, descriptors: null }
    }
  }

  function onEnd(member: Member, end: HostEnd): void {
    const { record, spec } = member
    Object.assign(record, {
      endedAt: end.at,
      exitCode: end.code,
      exitSignal: record.closed ? null : end.signal,
    })
    sightings.see('exited', { process: spec.name })
    if (member.leaving) return
    if (spec.respawn) {
      void start(spec.name).catch((error: unknown) => {
        if (!(error instanceof HostGone)) failed.reject(error)
      })
      return
    }
    if (end.signal === null)
      failed.reject(new Error(`process ${spec.name} ended with ${end.code}: ${end.stderr}`))
  }

  return {
    chronicle,
    sightings,
    failed: failed.promise,
    get store() {
      return store
    },
    start,
    async startWorkers() {
      workersBegan = true
      const late = [...members.values()].filter(
        ({ spec, record }) =>
          spec.workers !== undefined &&
          spec.workersStart === 'after-arrivals' &&
          record.workersStartedAt === null,
      )
      await Promise.all(
        late.map(async ({ host, record }) => {
          record.workersStartedAt = (await host.ask('startWorkers', {})).at
        }),
      )
    },
    ask: (name, kind, fields) => memberOf(name).host.ask(kind, fields),
    async askAny(kind, fields) {
      const open = [...members.values()].filter(({ host, record }) => host.alive && record.openedAt !== null)
      if (open.length === 0) throw new HostGone('no process of the scenario runs')
      // One of them may be frozen, and answer much later.
      return Promise.any(open.map(({ host }) => host.ask(kind, fields))).catch((error: AggregateError) => {
        throw error.errors[0]
      })
    },
    signal(name, signal) {
      const member = memberOf(name)
      if (signal === 'SIGTERM') {
        member.record.terminatedAt = Date.now()
        member.leaving = true
      }
      if (signal === 'SIGKILL') member.leaving = !member.spec.respawn
      member.host.signal(signal)
    },
    ended: async (name) => {
      await memberOf(name).host.ended
    },
    async openGate(gate) {
      gates.add(gate)
      const open = [...members.values()].filter(({ host, record }) => host.alive && record.openedAt !== null)
      // A frozen process hears of it when it goes on.
      for (const { host } of open) host.ask('openGate', { gate }).catch(() => undefined)
    },
    async close() {
      for (const member of members.values()) member.leaving = true
      // One that was just started again opens first.
      await Promise.allSettled([...members.values()].flatMap(({ opening }) => opening ?? []))
      const open = [...members.values()].filter(({ host, record }) => host.alive && record.openedAt !== null)
      const found = await Promise.all(
        open.map(async ({ host, record, idle }) => {
          const late =
            idle === undefined ? [] : leaksBetween(idle, await host.ask('resources', { baseline: idle }))
          const { before, after, ...counts } = await host.ask('close', {})
          record.closed = true
          return {
            ...counts,
            leaks: mergeLeaks([...late, ...leaksBetween(before, after), ...(await lingering(host))]),
          }
        }),
      )
      return {
        leaks: found.flatMap(({ leaks }) => leaks),
        staleWrites: sum(found.map(({ staleWrites }) => staleWrites)),
        visits: {
          entered: sum(found.map(({ visits }) => visits.entered)),
          repeated: sum(found.map(({ visits }) => visits.repeated)),
        },
      }
    },
    async kill() {
      const left = [...members.values()].filter(({ host }) => host.alive)
      for (const member of left) {
        member.leaving = true
        member.host.signal('SIGKILL')
      }
      await Promise.all(left.map(({ host }) => host.ended))
    },
    lives: () => lives,
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}

/** A closed host lets go of its channel; a process that then does not end by itself still holds something. */
async function lingering(host: HostProcess): Promise<readonly Leak[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, naturalEndMs, 'late')
  })
  const outcome = await Promise.race([host.ended, late])
  clearTimeout(timer)
  if (outcome !== 'late') return []
  host.signal('SIGKILL')
  await host.ended
  return [
    {
      kind: 'processes',
      what: `process still running ${naturalEndMs} ms after its runtime was stopped`,
      count: 1,
    },
  ]
}

const naturalEndMs = 2000

/** The same leak seen twice is one. */
function mergeLeaks(leaks: readonly Leak[]): readonly Leak[] {
  const merged = new Map<string, Leak>()
  for (const leak of leaks) {
    const name = `${leak.kind} ${leak.what}`
    const known = merged.get(name)
    if (known === undefined || known.count < leak.count) merged.set(name, leak)
  }
  return [...merged.values()]
}
