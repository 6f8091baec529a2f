import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import { leaksBetween, watchResources } from '../host/resources.ts'
import { type Leak, Load } from './load.ts'
import { type Sample, Sampler } from './sample.ts'
import { isBelow, type Rise, slopeOf } from './slope.ts'

/** How long a soak is. */
export interface SoakPlan {
  readonly seed: number
  /** It ends after the round in which both are reached; 0 asks for none. */
  readonly tasks: number
  readonly minutes: number
  readonly leak: Leak | undefined
  /** Tasks before the first sample: what is filled and compiled by then is no growth. */
  readonly warmUp: number
  /** Tasks between two samples. */
  readonly round: number
}

/** A figure of a soak, and whether it holds. Those without a bar are told, not judged. */
interface Figure {
  readonly what: string
  readonly value: number
  readonly unit: string
  readonly bar: number | undefined
  readonly holds: boolean
}

export interface Soaked {
  readonly seconds: number
  readonly tasks: number
  readonly kinds: ReadonlyMap<string, number>
  /** How often a runtime came and went. */
  readonly comings: number
  readonly samples: readonly Sample[]
  readonly figures: readonly Figure[]
  /** Of `verify`, at the end. */
  readonly faults: readonly string[]
}

const MIB = 1024 * 1024
/** What is judged; slopes per 10 000 tasks. */
const bars = { heapMb: 0.5, handles: 2, listeners: 0, walMib: 64, left: 0 } as const
/** What is not let go of by then, after the last runtime was closed, would keep a program from ending. */
const graceMs = 2_000

/** Soaks a runtime on a file of its own. Rejects when the signal aborts: of less than was asked for nothing is known. */
export async function soak(
  plan: SoakPlan,
  signal: AbortSignal,
  tell: (sample: Sample) => void,
): Promise<Soaked> {
  signal.throwIfAborted()
  const folder = mkdtempSync(join(tmpdir(), 'gym-soak-'))
  const database = join(folder, 'soak.db')
  const began = performance.now()
  const watch = watchResources({ timers: true })
  const before = watch.count([])
  try {
    const delay = monitorEventLoopDelay({ resolution: 10 })
    const samples: Sample[] = []
    let longestWal = 0
    let kinds: ReadonlyMap<string, number>
    let comings: number
    {
      await using load = await Load.open(database, plan.seed, plan.leak)
      const sampler = new Sampler(database, [load.signal])
      const wal = setInterval(() => {
        longestWal = Math.max(longestWal, sampler.walSize)
      }, 100)
      try {
        await load.round(plan.warmUp)
        delay.enable()
        const isLongEnough = () =>
          samples.length >= 9 &&
          load.ended >= plan.tasks &&
          performance.now() - began >= plan.minutes * 60_000
        while (!isLongEnough()) {
          signal.throwIfAborted()
          await load.round(plan.round)
          const sample = await sampler.take(load.ended)
          samples.push(sample)
          tell(sample)
        }
      } finally {
        delay.disable()
        clearInterval(wal)
      }
      ;({ counts: kinds, comings } = load)
    }
    const left = leaksBetween(before, await watch.countSettled([], before, graceMs))
    const { faults } = await verifyStore(`sqlite:${database}`)
    return {
      seconds: (performance.now() - began) / 1_000,
      tasks: samples.at(-1)?.tasks ?? 0,
      kinds,
      comings,
      samples,
      figures: [
        ...figuresOf(samples, longestWal, delay),
        {
          what: 'left 2 s after the end',
          value: left.reduce((sum, { count }) => sum + count, 0),
          unit: left.map(({ kind, what, count }) => `${count} ${kind}: ${what}`).join(', '),
          bar: bars.left,
          holds: left.length === 0,
        },
      ],
      faults: faults.map(({ what, where, expected, actual }) => `${what}: ${where}: ${expected}, ${actual}`),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** By the last two thirds of the samples: in the first one everything that is kept is filled. */
function figuresOf(
  samples: readonly Sample[],
  longestWal: number,
  delay: { readonly max: number; percentile(p: number): number },
): Figure[] {
  const late = samples.slice(Math.floor(samples.length / 3))
  const span = ((late.at(-1)?.tasks ?? 0) - (late[0]?.tasks ?? 0)) / 10_000
  const per = (of: (sample: Sample) => number) => {
    const slope = slopeOf(late.map((sample) => [sample.tasks / 10_000, of(sample)]))
    return { ...slope, rise: slope.perUnit * span }
  }
  const judged = (what: string, slope: Rise, unit: string, bar: number, noise: number) => ({
    what,
    value: slope.perUnit,
    unit: `${unit} (± ${(2 * slope.error).toFixed(2)})`,
    bar,
    holds: isBelow(slope, bar, noise),
  })
  const told = (what: string, value: number, unit: string) => ({
    what,
    value,
    unit,
    bar: undefined,
    holds: true,
  })
  const heap = per(({ heap: it }) => it / 1e6)
  const listeners = late.map(({ listeners: it }) => it)
  const growth = (listeners.at(-1) ?? 0) - (listeners[0] ?? 0)
  return [
    judged('heap after a collection', heap, 'MB per 10 000 tasks', bars.heapMb, 0.15),
    judged(
      'handles, descriptors and timers',
      per(({ handles }) => handles),
      'per 10 000 tasks',
      bars.handles,
      4,
    ),
    { what: 'listeners more at the end', value: growth, unit: '', bar: bars.listeners, holds: growth <= 0 },
    {
      what: 'longest log of the database',
      value: longestWal / MIB,
      unit: 'MiB',
      bar: bars.walMib,
      holds: longestWal <= bars.walMib * MIB,
    },
    told('memory outside of the heap', per(({ external }) => external / 1e6).perUnit, 'MB per 10 000 tasks'),
    told('of it buffers', per(({ buffers }) => buffers / 1e6).perUnit, 'MB per 10 000 tasks'),
    told('resident memory', per(({ rss }) => rss / 1e6).perUnit, 'MB per 10 000 tasks'),
    told('database', per(({ database }) => database / 1e6).perUnit, 'MB per 10 000 tasks'),
    told('delay of the event loop, median', delay.percentile(50) / 1e6, 'ms'),
    told('99th percentile', delay.percentile(99) / 1e6, 'ms'),
    told('longest', delay.max / 1e6, 'ms'),
  ]
}
