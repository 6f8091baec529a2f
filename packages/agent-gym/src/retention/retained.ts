import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { StorePlace } from '../place/store-place.ts'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import { createRuntime, defineTask, type Runtime } from '@ku0/agent-runtime'

/** What is run. */
export interface Plan {
  readonly tasks: number
  /** How many that completed are kept. */
  readonly kept: number
  readonly samples: number
}

/** The store at one moment. */
export interface Sample {
  /** How many tasks have come to their end. */
  readonly ended: number
  /** How many of them are still there. */
  readonly left: number
  /** The file with its log, or all tables with their indexes. */
  readonly bytes: number
  /** On PostgreSQL, of all tables. */
  readonly deadRows: number | undefined
  /** The tables with most of them, each beside its live rows. */
  readonly worst: string | undefined
  readonly seconds: number
}

export interface Retained {
  readonly samples: readonly Sample[]
  /** The size at the end, for that after a sixth of the tasks. */
  readonly growth: number
  readonly cpuSeconds: number
  readonly faults: number
  readonly verifiedTasks: number
}

/** Takes any input as it is. */
const anything = {
  '~standard': { version: 1, vendor: 'retained', validate: (value: unknown) => ({ value }) },
} as const

/** So many wait at the most, so that what is kept is what the store holds. */
const ahead = 5_000

/** Runs the tasks of a plan through a store of its own at a place, and removes it. The signal ends it after a sample. */
export async function retained(
  plan: Plan,
  place: StorePlace,
  signal?: AbortSignal,
  seen: (sample: Sample) => void = () => undefined,
): Promise<Retained> {
  const folder = mkdtempSync(join(tmpdir(), 'retained-'))
  const store = place.newStore(folder)
  try {
    const began = process.cpuUsage()
    const samples = await run(plan, store, seen, signal)
    const { user, system } = process.cpuUsage(began)
    const [sixth, end] = [samples[Math.ceil(samples.length / 6) - 1], samples.at(-1)]
    const { faults, tasks } = await verifyStore(store)
    return {
      samples,
      growth: (end?.bytes ?? 0) / (sixth?.bytes ?? 1),
      cpuSeconds: (user + system) / 1e6,
      faults: faults.length,
      verifiedTasks: tasks,
    }
  } finally {
    await place.remove(store)
    rmSync(folder, { recursive: true, force: true })
  }
}

async function run(
  plan: Plan,
  store: string,
  seen: (sample: Sample) => void,
  signal: AbortSignal | undefined,
): Promise<readonly Sample[]> {
  const day = 24 * 60 * 60 * 1_000
  const done = new Count()
  const nothing = defineTask({ type: 'nothing', input: anything }, () => {
    done.more()
    return null
  })
  const runtime = await createRuntime({
    store,
    tasks: [nothing],
    workers: { count: 1, capacity: 500 },
    config: {
      queueDepthLimit: 2 * ahead,
      batchBackpressureThreshold: 2 * ahead,
      maxInFlightPerWorker: 500,
      retention: { completed: { ageMs: 7 * day, count: plan.kept }, everyMs: 1_000 },
    },
    logger: false,
  })
  const measure = await meterOf(store)
  const began = performance.now()
  const samples: Sample[] = []
  try {
    let submitted = 0
    for (let sample = 1; sample <= plan.samples; sample += 1) {
      signal?.throwIfAborted()
      const until = Math.round((plan.tasks * sample) / plan.samples)
      while (submitted < until) {
        const size = Math.min(1_000, until - submitted)
        await runtime.submitMany(
          Array.from({ length: size }, (_, n) => ({ task: nothing, input: { n: submitted + n } })),
        )
        submitted += size
        await done.reached(submitted - ahead)
      }
      await done.reached(submitted)
      // What a pass that is due has not deleted yet would count as growth by chance.
      await runtime.prune()
      const taken = {
        ended: done.value,
        ...(await leftIn(runtime)),
        ...(await measure()),
        seconds: (performance.now() - began) / 1_000,
      }
      samples.push(taken)
      seen(taken)
    }
    return samples
  } finally {
    await runtime.stop()
    await measure.close()
  }
}

/** How many tasks have run, and a wait for so many. */
class Count {
  value = 0
  #wanted = Number.POSITIVE_INFINITY
  #wake = (): void => undefined

  more(): void {
    this.value += 1
    if (this.value >= this.#wanted) this.#wake()
  }

  async reached(count: number): Promise<void> {
    if (this.value >= count) return
    this.#wanted = count
    await new Promise<void>((resolve) => (this.#wake = resolve))
  }
}

async function leftIn(runtime: Runtime): Promise<Pick<Sample, 'left'>> {
  const { totals, deleted } = await runtime.stats()
  return { left: totals.completed - deleted.completed }
}

type Measured = Pick<Sample, 'bytes' | 'deadRows' | 'worst'>
type Meter = (() => Promise<Measured>) & { readonly close: () => Promise<void> }

async function meterOf(store: string): Promise<Meter> {
  if (store.startsWith('sqlite:')) {
    const path = store.slice('sqlite:'.length)
    const bytes = () => [path, `${path}-wal`].reduce((sum, file) => sum + statSync(file).size, 0)
    const measure = () => Promise.resolve({ bytes: bytes(), deadRows: undefined, worst: undefined })
    return Object.assign(measure, { close: () => Promise.resolve() })
  }
  const url = new URL(store)
  const schema = url.searchParams.get('schema')
  url.search = ''
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  const measure = async () => {
    const { rows } = await client.query<{ name: string; bytes: string; dead: string; live: string }>(
      `SELECT relname AS name, pg_total_relation_size(relid) AS bytes, n_dead_tup AS dead, n_live_tup AS live
       FROM pg_stat_user_tables WHERE schemaname = $1 ORDER BY n_dead_tup DESC`,
      [schema],
    )
    const sum = (column: 'bytes' | 'dead') => rows.reduce((total, row) => total + Number(row[column]), 0)
    const worst = rows.slice(0, 4).map(({ name, dead, live }) => `${name} ${dead} of ${live}`)
    return { bytes: sum('bytes'), deadRows: sum('dead'), worst: worst.join(', ') }
  }
  return Object.assign(measure, { close: () => client.end() })
}
