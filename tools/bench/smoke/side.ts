// One side of the comparison, in a process of its own: prints the CPU seconds that each workload took.
//
//   node tools/bench/smoke/side.ts own|raw FOLDER
import { resolve } from 'node:path'
import { cpuSeconds } from '../run/seat.ts'
import type { Connection } from '../system.ts'
import { ku0 } from '../systems/ku0.ts'
import { rawSqlite } from '../systems/raw-sqlite.ts'

/** By workload, in seconds. */
export type Cpu = Readonly<Record<'submit' | 'drain' | 'steps', number>>

const sources = resolve(import.meta.dirname, '../../../packages/agent-runtime/src/index.ts')
/** Short tasks, then others with ten steps each. Whole batches of 500, so that the two hardly run beside each other. */
const [short, stepped] = [6_000, 1_000]
const [side = '', folder = ''] = process.argv.slice(2)

if (import.meta.main) {
  const open = side === 'own' ? ku0(sources, 'full') : rawSqlite
  const drained = counted(short)
  const all = counted(short + stepped)
  const connection = await open({
    place: { folder, url: '' },
    job: {
      steps: (task) => (task < short ? 0 : 10),
      run: () => undefined,
      ended: () => {
        drained.ended()
        all.ended()
      },
    },
  })
  // Code that has not been compiled yet is no part of a rate.
  await submitAll(connection, 0, 1_000)
  const submit = await measured(() => submitAll(connection, 1_000, short))
  await submitAll(connection, short, short + stepped)
  const drain = await measured(async () => {
    await connection.start()
    await drained.reached
  })
  const steps = await measured(() => all.reached)
  await connection.close()
  console.log(JSON.stringify({ submit, drain, steps } satisfies Cpu))
  process.exit(0)
}

export function counted(count: number) {
  let finish: () => void = () => undefined
  let ended = 0
  const reached = new Promise<void>((done) => {
    finish = done
  })
  return {
    reached,
    ended: () => {
      ended += 1
      if (ended === count) finish()
    },
  }
}

/** Fifty at a time, as a server does it. */
export async function submitAll(connection: Connection, from: number, to: number): Promise<void> {
  let next = from
  const one = async () => {
    while (next < to) {
      next += 1
      await connection.submit(next - 1)
    }
  }
  await Promise.all(Array.from({ length: 50 }, one))
}

export async function measured(work: () => Promise<void>): Promise<number> {
  const before = cpuSeconds()
  await work()
  return cpuSeconds() - before
}
