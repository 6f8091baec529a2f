import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from '../statistics.ts'
import { clock, type Figures, type Request, type Role } from './messages.ts'
import { cpuSeconds, within, type Seat } from './seat.ts'

type Of<R extends Role['role']> = Extract<Role, { role: R }>

/**
 * Submits requests when they are due, whatever came of those before, and runs them: a handler waits for as long as its request takes. A wait
 * counts from the time when the request was due.
 */
export async function replay(
  { open, place }: Seat,
  { requests: file, workers, atOnce, limitMs }: Of<'replay'>,
): Promise<Figures> {
  const requests = JSON.parse(readFileSync(file, 'utf8')) as readonly Request[]
  const waits: Record<Request['lane'], number[]> = { interactive: [], normal: [], batch: [] }
  const dueAt = new Float64Array(requests.length)
  let left = requests.length
  const all = Promise.withResolvers<void>()
  const run = (task: number) => {
    const request = requests[task]
    if (request === undefined) throw new Error(`there is no request ${task}`)
    waits[request.lane].push(clock() - (dueAt[task] ?? 0))
    return sleep(request.ms)
  }
  const ended = () => {
    left -= 1
    if (left === 0) all.resolve()
  }
  const connection = await open({ place, job: { steps: 0, run, ended }, workers, atOnce })
  await connection.start()
  const began = clock() + 500
  for (const [task, { afterMs }] of requests.entries()) dueAt[task] = began + afterMs
  let next = 0
  while (next < requests.length) {
    const ms = (dueAt[next] ?? 0) - clock()
    if (ms > 0) await sleep(ms)
    for (; next < requests.length && (dueAt[next] ?? 0) <= clock(); next += 1)
      void connection.submit(next, requests[next]?.lane)
  }
  const isWhole = await within(limitMs, all.promise)
  await within(10_000, connection.close())
  const ofLanes = Object.entries(waits).flatMap(([lane, times]) => [
    [`${lane}P50Ms`, percentile(times, 0.5)],
    [`${lane}P95Ms`, percentile(times, 0.95)],
    [`${lane}P99Ms`, percentile(times, 0.99)],
  ])
  return { ...Object.fromEntries(ofLanes), cut: isWhole ? 0 : 1, cpuSeconds: cpuSeconds(), peakMiB: 0 }
}

/** A handler uses the processor for no longer than that at a time. */
const sliceMs = 5
/** And then waits, so that all of them together use this part of a core. */
const busyPart = 0.5

/** From the call of submit to the start of its handler, while many other tasks run and use the processor in slices. */
export async function amongOthers(
  { open, place, system }: Seat,
  { others, count, limitMs }: Of<'among'>,
): Promise<Figures> {
  const waiting = new Map<number, () => void>()
  let running = 0
  const over = new AbortController()
  const allRun = Promise.withResolvers<void>()
  const pauseMs = (others * (sliceMs / 2)) / busyPart
  const run = async (task: number) => {
    const began = waiting.get(task)
    if (began !== undefined) {
      began()
      return
    }
    running += 1
    if (running === others) allRun.resolve()
    // Each begins at another time of the pause, and has slices of another length.
    await sleep((pauseMs * (task % others)) / others)
    while (!over.signal.aborted) {
      const until = clock() + (sliceMs * ((task % 10) + 1)) / 10.5
      while (clock() < until);
      await sleep(Math.min(pauseMs, 1_000_000))
    }
  }
  const connection = await open({ place, job: { steps: 0, run }, atOnce: others + 50 })
  await connection.start()
  const tasks = Array.from({ length: others }, (_, task) => task)
  if (connection.submitMany === undefined || system.batch === undefined)
    for (const task of tasks) await connection.submit(task)
  else for (let at = 0; at < others; at += 500) await connection.submitMany(tasks.slice(at, at + 500))
  if (!(await within(limitMs, allRun.promise))) throw new Error(`${running} of ${others} tasks run at once`)
  const times: number[] = []
  for (let task = others; task < others + count; task += 1) {
    const began = Promise.withResolvers<void>()
    waiting.set(task, began.resolve)
    const at = clock()
    await connection.submit(task)
    await began.promise
    times.push(clock() - at)
    await sleep(20)
  }
  over.abort()
  return {
    p50Ms: percentile(times, 0.5),
    p95Ms: percentile(times, 0.95),
    p99Ms: percentile(times, 0.99),
  }
}
