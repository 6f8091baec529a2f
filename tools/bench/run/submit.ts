import { nothing } from '../system.ts'
import type { Figures, Role } from './messages.ts'
import { cpuSeconds, type Seat } from './seat.ts'

type Of<R extends Role['role']> = Extract<Role, { role: R }>

/** Submissions that wait for their answer: one in flight, fifty, and many in a call. Each for a part of the time, after a short warm-up. */
export async function submit({ open, place, system }: Seat, { limitMs }: Of<'submit'>): Promise<Figures> {
  const isOwn = system.runsOnSubmit === true
  const connection = await open({ place, ...(isOwn ? { job: nothing } : {}) })
  if (isOwn) await connection.start()
  const part = limitMs / 3
  let next = 0
  const measure = async (inFlight: number, ms: number) => {
    const [from, at, cpu] = [next, performance.now(), cpuSeconds()]
    const one = async () => {
      while (performance.now() - at < ms) await connection.submit((next += 1))
    }
    await Promise.all(Array.from({ length: inFlight }, one))
    return rate(next - from, at, cpu)
  }
  await measure(1, part / 5)
  const one = await measure(1, part)
  const fifty = await measure(50, part)
  const figures: Record<string, number> = {
    onePerSecond: one.perSecond,
    fiftyPerSecond: fifty.perSecond,
    fiftyCpuPer10000: fifty.cpuPer10000,
  }
  const { submitMany } = connection
  const { batch } = system
  if (submitMany !== undefined && batch !== undefined) {
    const many = () => submitMany(Array.from({ length: batch }, () => (next += 1)))
    await many()
    const [from, at, cpu] = [next, performance.now(), cpuSeconds()]
    while (performance.now() - at < part) await many()
    const bulk = rate(next - from, at, cpu)
    figures['bulkPerSecond'] = bulk.perSecond
    figures['bulkCpuPer10000'] = bulk.cpuPer10000
  }
  await connection.close()
  return figures
}

function rate(count: number, since: number, cpu: number) {
  return {
    perSecond: count / ((performance.now() - since) / 1000),
    cpuPer10000: ((cpuSeconds() - cpu) / count) * 10_000,
  }
}
