import { setTimeout as sleep } from 'node:timers/promises'
import { median, percentile } from '../statistics.ts'
import { nothing } from '../system.ts'
import { clock, type Figures, type Role } from './messages.ts'
import type { Seat } from './seat.ts'

type Of<R extends Role['role']> = Extract<Role, { role: R }>

/** So long nothing happens before each submission. */
const idleMs = 5
/** From so few times on the 99th percentile is worth something. */
const fewestForP99 = 500

/** From the call of submit to the start of the handler, in one process that has nothing else to do. */
export async function pickUp({ open, place }: Seat, work: Of<'pick-up'>): Promise<Figures> {
  const waiting = new Map<number, (at: number) => void>()
  const run = (task: number) => waiting.get(task)?.(clock())
  const connection = await open({ place, job: { ...nothing, run } })
  await connection.start()
  const figures = await pickUps(work, (task, began) => {
    waiting.set(task, began)
    return connection.submit(task)
  })
  await connection.close()
  return figures
}

/** The half that runs tasks, when two processes share the work. */
export async function worker({ open, place, say }: Seat): Promise<Figures> {
  const run = (task: number) => void say({ said: 'began', task, at: clock() })
  const connection = await open({ place, job: { ...nothing, run } })
  await connection.start()
  await say({ said: 'ready' })
  await new Promise((told) => process.once('message', told))
  await connection.close()
  return {}
}

/** The half that submits. Whoever started both passes on what the other one says. */
export async function submitter({ open, place }: Seat, work: Of<'submitter'>): Promise<Figures> {
  const waiting = new Map<number, (at: number) => void>()
  process.on('message', ({ task, at }: { task: number; at: number }) => waiting.get(task)?.(at))
  const connection = await open({ place })
  const figures = await pickUps(work, (task, began) => {
    waiting.set(task, began)
    return connection.submit(task)
  })
  await connection.close()
  return figures
}

/** Submits one task after the other, numbered from 0, and waits until each has begun. */
export async function pickUps(
  { warmUp, count, limitMs }: { warmUp: number; count: number; limitMs: number },
  submit: (task: number, began: (at: number) => void) => Promise<unknown>,
): Promise<Figures> {
  const times: number[] = []
  const one = async (task: number) => {
    const at = clock()
    let heard: (at: number) => void = () => undefined
    const began = new Promise<number>((hear) => {
      heard = hear
    })
    await submit(task, heard)
    return (await began) - at
  }
  // A server may still be starting behind the first one.
  await one(0)
  const until = clock() + limitMs
  for (let task = 1; task <= warmUp + count && clock() < until; task += 1) {
    await sleep(idleMs)
    times.push(await one(task))
  }
  // A system that needs a second for each has no time for a warm-up.
  const counted = times.slice(Math.min(warmUp, Math.floor(times.length / 4)))
  return {
    p50Ms: median(counted),
    p95Ms: percentile(counted, 0.95),
    // Of fewer it would be the slowest one.
    ...(counted.length < fewestForP99 ? {} : { p99Ms: percentile(counted, 0.99) }),
    count: counted.length,
  }
}
