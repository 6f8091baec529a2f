import { lanes, type Lane } from '@ku0/agent-runtime-core'
import { queueWaits, resumes, schedulerLatencies } from '../measure/latencies.ts'
import type { Measurements, Run, TaskFact } from '../measure/measurements.ts'
import { type Service, serviceOf, servingsOf } from '../measure/service.ts'
import { type KilledTask, killedTask } from './killed-task.ts'
import { depthOver, inFlightOver, type Step, type Stretch, stretchesOf } from '../measure/timeline.ts'

/** What is drawn of a scenario: of its first run. Times are ms from its beginning. */
export interface Plots {
  readonly endMs: number
  /** Queued tasks by lane; lanes that were never used are left out. */
  readonly depth: readonly { readonly lane: Lane; readonly steps: readonly Step[] }[]
  readonly inFlight: readonly Step[]
  readonly waits: readonly Distribution[]
  readonly resumes: Distribution | undefined
  readonly attempts: Attempts | undefined
  readonly service: ServicePlot | undefined
  readonly marks: readonly Mark[]
  readonly killed: KilledTask | undefined
}

/** What clients were served over time, and what was due to them while all had tasks queued. */
export interface ServicePlot {
  readonly clients: readonly (Service & {
    readonly steps: readonly Step[]
    readonly ideal: readonly Step[]
  })[]
}

/** Durations, sorted, in ms. */
export interface Distribution {
  readonly name: string
  readonly count: number
  /** Some of many: evenly spaced in rank, the smallest and the largest among them. */
  readonly values: readonly number[]
}

/** Which worker held which task when. */
export interface Attempts {
  readonly rows: readonly { readonly label: string; readonly slots: number }[]
  readonly bars: readonly Bar[]
  /** How many attempts there were. */
  readonly total: number
  /** Whether only the first are drawn. */
  readonly cut: boolean
}

export interface Bar {
  readonly row: number
  readonly slot: number
  readonly from: number
  readonly to: number
  readonly end: BarEnd
  readonly title: string
}

/** How an attempt ended, as far as colour goes. */
export const barEnds = ['completed', 'failed', 'canceled', 'crashed', 'given back', 'open'] as const
type BarEnd = (typeof barEnds)[number]

/** Something that happened to a process. */
export interface Mark {
  readonly at: number
  readonly label: string
}

/** The most points of a line and bars of a timeline: what an eye can still tell apart. */
const maxPoints = 600
const maxBars = 5000
/** Bars nearer to each other than this share of the width are drawn as one. */
const resolution = 1 / 700

export function plotsOf({ runs }: Measurements): Plots {
  const run = runs[0]
  if (run === undefined)
    return {
      endMs: 0,
      depth: [],
      inFlight: [],
      waits: [],
      resumes: undefined,
      attempts: undefined,
      service: undefined,
      marks: [],
      killed: undefined,
    }
  const beginning = beginningOf(run)
  const shift = (steps: readonly Step[]) =>
    thin(steps.map(({ at, value }) => ({ at: at - beginning, value })))
  const stretches = stretchesOf(run)
  const usedLanes = lanes.filter((lane) =>
    run.tasks.some((task) => task.lane === lane && task.state !== 'rejected'),
  )
  const flights = stretches.length > 0 ? inFlightOver(stretches) : inFlightOver(rowStretches(run))
  const resumed = resumes(run).flatMap(({ ms }) => (ms === null ? [] : [ms]))
  return {
    endMs: endOf(run) - beginning,
    depth: usedLanes.map((lane) => ({ lane, steps: shift(depthOver(run, lane)) })),
    inFlight: shift(lastOfEachMs(flights)),
    waits: [
      ...usedLanes.map((lane) => distribution(lane, queueWaits(run, lane))),
      distribution('slot free to handler', schedulerLatencies(run)),
    ].filter(({ count }) => count > 0),
    resumes: resumed.length === 0 ? undefined : distribution('resume', resumed),
    attempts: stretches.length === 0 ? undefined : attemptsOf(run, stretches, beginning),
    service: servicePlot(run, beginning),
    marks: marksOf(run, beginning),
    killed: killedTask(run),
  }
}

/** `ideal` differs from what was served only by the time in which all had tasks queued: outside of it nothing was due. */
function servicePlot(run: Run, beginning: number): ServicePlot | undefined {
  const service = serviceOf(run)
  if (service === null) return undefined
  const servings = servingsOf(run)
  return {
    clients: service.map((it) => {
      let served = 0
      let due = 0
      const own: Step[] = []
      const ideal: Step[] = []
      for (const { client, at, cost, stretch } of servings) {
        const got = client === it.client ? cost : 0
        served += got
        due += stretch === null ? got : cost * it.due
        own.push({ at: at - beginning, value: served })
        ideal.push({ at: at - beginning, value: due })
      }
      return { ...it, steps: evenly(own), ideal: evenly(ideal) }
    }),
  }
}

/** Of lines that only rise some points, evenly spaced, the last among them. */
function evenly(steps: readonly Step[]): readonly Step[] {
  const size = Math.ceil(steps.length / maxPoints)
  return steps.filter((_, i) => i % size === 0 || i === steps.length - 1)
}

/** The first submission: how long the first processes take to start is no part of the story. */
function beginningOf(run: Run): number {
  const first = run.submissions.reduce((least, { at }) => Math.min(least, at), Infinity)
  return Number.isFinite(first) ? Math.floor(first) : run.startedAt
}

function endOf(run: Run): number {
  return run.tasks.reduce((end, { finishedAt }) => Math.max(end, finishedAt ?? 0), 0) || run.finishedAt
}

function rowStretches(run: Run): readonly Stretch[] {
  return run.tasks.flatMap((task: TaskFact) =>
    task.startedAt === null
      ? []
      : [
          {
            task,
            attempt: 1,
            token: 1,
            workerId: '',
            from: task.startedAt,
            to: task.finishedAt,
            end: task.state,
          },
        ],
  )
}

function distribution(name: string, values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b)
  const step = Math.max(1, (sorted.length - 1) / (maxPoints - 1))
  const count = Math.min(sorted.length, maxPoints)
  const picked = Array.from({ length: count }, (_, i) => sorted[Math.round(i * step)] ?? sorted.at(-1) ?? 0)
  return { name, count: sorted.length, values: picked }
}

/** Slots change hands within a ms, which the store's clock cannot tell apart: only what stands at its end is drawn. */
function lastOfEachMs(steps: readonly Step[]): readonly Step[] {
  return steps.filter(({ at }, i) => steps[i + 1]?.at !== at)
}

/** Fewer steps, of each stretch of time the lowest and the highest, so that no peak is lost. */
function thin(steps: readonly Step[]): readonly Step[] {
  if (steps.length <= maxPoints) return steps
  const size = Math.ceil(steps.length / (maxPoints / 3))
  const kept: Step[] = []
  for (let i = 0; i < steps.length; i += size) {
    const part = steps.slice(i, i + size)
    const low = part.reduce((least, step) => (step.value < least.value ? step : least))
    const high = part.reduce((most, step) => (step.value > most.value ? step : most))
    const ends = [part[0], low, high, part.at(-1)].filter((step) => step !== undefined)
    kept.push(...new Set(ends.toSorted((a, b) => part.indexOf(a) - part.indexOf(b))))
  }
  return kept
}

function attemptsOf(run: Run, stretches: readonly Stretch[], beginning: number): Attempts {
  const processes = new Map(
    run.passes.map(({ taskId, token, process, life }) => [`${taskId} ${token}`, { process, life }]),
  )
  const workers = new Map<string, string>()
  for (const { task, token, workerId } of stretches) {
    const pass = processes.get(`${task.taskId} ${token}`)
    if (!workers.has(workerId) && pass !== undefined) workers.set(workerId, labelOf(pass, run))
  }
  const ids = [...new Set(stretches.map(({ workerId }) => workerId))]
  const names = ids.map((id) => workers.get(id) ?? 'a worker')
  const slots: number[][] = ids.map(() => [])
  const near = (endOf(run) - beginning) * resolution
  const last = new Map<string, Writable<Bar> & { tasks: number }>()
  const bars: (Writable<Bar> & { tasks: number })[] = []
  for (const stretch of stretches) {
    const row = ids.indexOf(stretch.workerId)
    const to = stretch.to ?? run.finishedAt
    const taken = slots[row] as number[]
    const free = taken.findIndex((until) => until <= stretch.from)
    const slot = free === -1 ? taken.length : free
    taken[slot] = to
    const end = barEnd(stretch.end)
    const before = last.get(`${row} ${slot}`)
    if (before !== undefined && before.end === end && stretch.from - beginning - before.to < near) {
      before.to = to - beginning
      before.tasks += 1
      before.title = `${before.tasks} attempts, ${end}`
      continue
    }
    const title = `task ${stretch.task.n}, ${stretch.task.lane}, attempt ${stretch.attempt}: ${stretch.end ?? 'open'} after ${to - stretch.from} ms`
    const bar = { row, slot, from: stretch.from - beginning, to: to - beginning, end, title, tasks: 1 }
    last.set(`${row} ${slot}`, bar)
    bars.push(bar)
  }
  const rows = ids.map((_, i) => ({ label: numbered(names, i), slots: (slots[i] as number[]).length }))
  return { rows, bars: bars.slice(0, maxBars), total: stretches.length, cut: bars.length > maxBars }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

function labelOf({ process, life }: { readonly process: string; readonly life: number }, run: Run): string {
  const lived = run.lives.filter((other) => other.process === process).length
  return lived > 1 ? `${process}, life ${life}` : process
}

/** Workers of one process are told apart by a number. */
function numbered(names: readonly string[], i: number): string {
  const name = names[i] ?? ''
  const same = names.filter((other) => other === name).length
  return same > 1 ? `${name} #${names.slice(0, i + 1).filter((other) => other === name).length}` : name
}

function barEnd(end: string | null): BarEnd {
  switch (end) {
    case 'completed':
    case 'failed':
    case 'canceled':
      return end
    case 'expired':
    case 'owner_dead':
      return 'crashed'
    case null:
      return 'open'
    default:
      return 'given back'
  }
}

function marksOf(run: Run, beginning: number): readonly Mark[] {
  return run.lives
    .flatMap(({ process, life, spawnedAt, endedAt, exitSignal, terminatedAt }) => [
      ...(life > 1 ? [{ at: spawnedAt - beginning, label: `${process} started again` }] : []),
      ...(terminatedAt === null ? [] : [{ at: terminatedAt - beginning, label: `${process} told to drain` }]),
      ...(exitSignal === 'SIGKILL' && endedAt !== null
        ? [{ at: endedAt - beginning, label: `${process} killed` }]
        : []),
    ])
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)
}
