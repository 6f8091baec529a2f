import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../system.ts'
import { clock, type Figures, type Role } from './messages.ts'
import { pickUps } from './pick-up.ts'
import { Processes } from './processes.ts'
import { cpuSeconds, within, type Seat } from './seat.ts'

type Of<R extends Role['role']> = Extract<Role, { role: R }>

/** What is on its way to its wait, in batches: a system that is slow keeps no queue of them, in which others would be stuck. */
const batchesAhead = 2
/** A store may have work left when the last task waits: this part of the idle time comes before what is measured. */
const settlePart = 0.2
/** So long the last ones may take to their wait when the time is over. */
const lastMs = 20_000

/**
 * Tasks come to a wait in their handlers and stay there. Then nothing happens for a while, others are picked up beside them, and some are woken.
 * CPU and memory are those of this process and of its server.
 */
export async function wait(seat: Seat, work: Of<'wait'>): Promise<Figures> {
  const { count, wakes, limitMs } = work
  const server = seat.place.server === undefined ? undefined : new Processes(seat.place.server)
  const cpu = () => cpuSeconds() + (server?.cpuSeconds() ?? 0)
  const memory = () => process.memoryUsage().rss / 2 ** 20 + (server?.memoryMiB() ?? 0)
  const began = new Map<number, (at: number) => void>()
  const [reached, woken] = [numbers(count), numbers(count)]
  const connection = await seat.open({
    place: seat.place,
    job: {
      steps: 0,
      waits: (task) => task < count,
      reached: reached.add,
      run: (task) => began.get(task)?.(clock()),
      ended: (task) => {
        if (task < count) woken.add(task)
      },
    },
  })
  await connection.start()
  const emptyMiB = memory()

  const [at, before] = [clock(), cpu()]
  const waiting = await fill(connection, seat.system.batch, work, reached)
  const took = (clock() - at) / 1000
  const fillCpu = cpu() - before

  await sleep(work.idleMs * settlePart)
  const [idleAt, idleBefore] = [clock(), cpu()]
  await sleep(work.idleMs)
  const idleCpuMs = ((cpu() - idleBefore) * 1000) / ((clock() - idleAt) / 1000)
  const waitingMiB = memory()

  const pickedUp = await pickUps(
    { warmUp: Math.min(50, work.pickUps), count: work.pickUps, limitMs },
    (task, heard) => {
      began.set(count + task, heard)
      return connection.submit(count + task)
    },
  )
  const wakeAt = clock()
  await wake(connection, Math.min(wakes, waiting), woken, limitMs)
  const wakePerSecond = woken.size() / ((woken.lastAt() - wakeAt) / 1000)
  // One whose handlers wait in its memory would not let go of them by itself.
  await within(3_000, connection.close())
  return {
    waiting,
    cut: waiting < count ? 1 : 0,
    reachedPerSecond: waiting / took,
    cpuPer10000: (fillCpu / waiting) * 10_000,
    emptyMiB,
    waitingMiB,
    idleCpuMs,
    ...pickedUp,
    woken: woken.size(),
    wakePerSecond,
  }
}

/** Resolves with the number of tasks that wait, when all that were submitted do. */
async function fill(
  connection: Connection,
  batch: number | undefined,
  { count, fillMs }: Of<'wait'>,
  reached: Numbers,
): Promise<number> {
  const { submitMany, waiting } = connection
  if (waiting === undefined) throw new Error('no handler of it can wait')
  const until = clock() + fillMs
  const most = batchesAhead * (batch ?? 250)
  let next = 0
  /** The numbers to submit next, as many as that, once there is room for them. */
  const take = async (size: number) => {
    while (next - reached.size() >= most && clock() < until) await sleep(1)
    const from = next
    if (clock() < until) next = Math.min(count, next + size)
    return Array.from({ length: next - from }, (_, n) => from + n)
  }
  const one = async () => {
    for (let tasks = await take(1); tasks.length > 0; tasks = await take(1))
      for (const task of tasks) await connection.submit(task)
  }
  if (submitMany === undefined || batch === undefined) await Promise.all(Array.from({ length: 50 }, one))
  else
    for (let tasks = await take(batch); tasks.length > 0; tasks = await take(batch)) await submitMany(tasks)
  const last = clock() + lastMs
  let there = 0
  while ((there = reached.size() < next ? 0 : await waiting()) < next) {
    if (clock() > last) throw new Error(`${reached.size()} of ${next} tasks came to their wait`)
    await sleep(20)
  }
  return there
}

/** The first ones that wait, fifty at a time, until they have ended or the time is over. */
async function wake(connection: Connection, count: number, woken: Numbers, limitMs: number): Promise<void> {
  const until = clock() + limitMs
  let next = 0
  const one = async () => {
    while (next < count && clock() < until) {
      next += 1
      await connection.wake?.(next - 1)
    }
  }
  await within(limitMs, Promise.all([...Array.from({ length: 50 }, one), woken.reach(count)]))
  if (woken.size() === 0) throw new Error(`no task was woken within ${limitMs / 1000} s`)
}

/** Starts where many tasks wait, and says when one that does not wait has begun. */
export async function beside(
  { open, place, say }: Seat,
  { count, task, submits, limitMs }: Of<'beside'>,
): Promise<Figures> {
  const ran = Promise.withResolvers<void>()
  const run = (which: number) => {
    if (which !== task) return
    void say({ said: 'began', task, at: clock() })
    ran.resolve()
  }
  const connection = await open({ place, job: { steps: 0, waits: (it) => it < count, run } })
  await connection.start()
  if (submits) await connection.submit(task)
  const isThere = await within(limitMs, ran.promise)
  await within(3_000, connection.close())
  return { begun: isThere ? 1 : 0 }
}

type Numbers = ReturnType<typeof numbers>

/** Which of so many numbers were there, each counted once. */
function numbers(among: number) {
  const seen = new Uint8Array(among)
  let size = 0
  let lastAt = 0
  let wanted = Number.POSITIVE_INFINITY
  const enough = Promise.withResolvers<void>()
  return {
    add: (n: number) => {
      if (seen[n] !== 0) return
      seen[n] = 1
      size += 1
      lastAt = clock()
      if (size >= wanted) enough.resolve()
    },
    size: () => size,
    lastAt: () => lastAt,
    reach: (count: number) => {
      wanted = count
      if (size >= count) enough.resolve()
      return enough.promise
    },
  }
}
