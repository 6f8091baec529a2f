import type { Connection } from '../system.ts'
import type { Figures, Role } from './messages.ts'
import { cpuSeconds, peakMiB, within, type Seat } from './seat.ts'

type Of<R extends Role['role']> = Extract<Role, { role: R }>

/** Puts tasks into the queue while nobody runs them. */
export async function fill(
  { open, place, system }: Seat,
  { from, count, limitMs }: Of<'fill'>,
): Promise<Figures> {
  const connection = await open({ place })
  const filled = await submitAll(connection, { from, count, batch: system.batch, limitMs })
  await connection.close()
  return { filled }
}

/** Runs what is in the queue, in a process that was not there before, until each task has ended or the time is over. */
export async function drain(
  { open, place, system }: Seat,
  { count, among, steps, atOnce, limitMs }: Of<'drain'>,
): Promise<Figures> {
  const seen = new Uint8Array(among)
  let handled = 0
  let lastAt = 0
  let finish: () => void = () => undefined
  const all = new Promise<void>((done) => {
    finish = done
  })
  const ended = (task: number) => {
    if (handled === count || seen[task] !== 0) return
    seen[task] = 1
    handled += 1
    lastAt = performance.now()
    if (handled === count) finish()
  }
  const job = { steps, run: () => undefined, ended }
  const connection = await open({ place, job, ...(atOnce === undefined ? {} : { atOnce }) })
  const startAt = performance.now()
  await connection.start()
  if (system.runsOnSubmit === true)
    void submitAll(connection, { from: 0, count, batch: undefined, limitMs, atOnce: atOnce ?? 100 })
  const isWhole = await within(limitMs, all)
  if (handled === 0) throw new Error(`no task ended within ${limitMs / 1000} s`)
  // What could not end in time is not waited for: the run says how far it came.
  await within(10_000, connection.close())
  const cpu = cpuSeconds()
  return {
    handled,
    cut: isWhole ? 0 : 1,
    // `performance.now()` counts from the start of the process.
    perSecond: handled / (lastAt / 1000),
    perSecondWorking: handled / ((lastAt - startAt) / 1000),
    ...(steps === 0 ? {} : { stepsPerSecond: (handled * steps) / ((lastAt - startAt) / 1000) }),
    cpuSeconds: cpu,
    peakMiB: peakMiB(),
  }
}

interface Filling {
  readonly from: number
  readonly count: number
  readonly batch: number | undefined
  readonly limitMs: number
  readonly atOnce?: number
}

/** The number of tasks that were stored within the time. */
async function submitAll(
  connection: Connection,
  { from, count, batch, limitMs, atOnce = 50 }: Filling,
): Promise<number> {
  const until = performance.now() + limitMs
  const { submitMany } = connection
  let next = from
  const end = from + count
  if (submitMany !== undefined && batch !== undefined) {
    for (; next < end && performance.now() < until; next += Math.min(batch, end - next))
      await submitMany(Array.from({ length: Math.min(batch, end - next) }, (_, n) => next + n))
    return next - from
  }
  const one = async () => {
    while (next < end && performance.now() < until) {
      next += 1
      await connection.submit(next - 1)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return next - from
}
