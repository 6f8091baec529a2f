import type { BatchObservableResult, Meter, Observable } from '@opentelemetry/api'
import { lanes, type Timers } from '@ku0/agent-runtime-core'
import { BoundedLabels } from './bounded-labels.ts'
import { attributes as a } from './catalogue.ts'
import type { Dropped } from './dropped.ts'
import type { Instruments } from './instruments.ts'
import type { TelemetrySource } from './source.ts'
import { within } from './within.ts'

/** The metrics that are asked for when they are collected, not recorded when something happens. Source: `docs/semantics.md 16.1`. */
export function observe(
  meter: Meter,
  on: Instruments,
  asked: { source: TelemetrySource; timers: Timers; dropped: () => Dropped },
): Disposable {
  const { source, timers, dropped } = asked
  const store = { [a.storeId.name]: source.storeInfo.storeId }
  const workerLabels = new BoundedLabels(100, '_other')
  const everReported = new Set<string>()
  const quotaLabels = new BoundedLabels(100, '_other')
  const routeLabels = new BoundedLabels(100, '_other')
  const stuckLabels = new BoundedLabels(100, '_other')
  const stuckReported = new Set<string>()
  const routesReported = new Set<string>()
  const routeMetrics = [on.routePressure, on.routeScar, on.routeCircuit]
  const observables: Observable[] = [
    on.queueDepth,
    on.staleWrites,
    on.inFlight,
    on.stuck,
    on.quotaInFlight,
    on.dropped,
    ...routeMetrics,
  ]

  const callback = async (result: BatchObservableResult) => {
    const [stats, workers, routes] = await Promise.all([
      within(timers, ANSWER_WITHIN_MS, () => source.stats()),
      within(timers, ANSWER_WITHIN_MS, () => source.workers()),
      within(timers, ANSWER_WITHIN_MS, async () => source.routes?.()),
    ])
    if (stats !== undefined) observeStore(result, stats)
    if (workers !== undefined) observeWorkers(result, workers)
    if (routes !== undefined) observeRoutes(result, routes)
    observeStuck(result, source.stuck?.() ?? [])
    for (const [signal, count] of Object.entries(dropped())) {
      result.observe(on.dropped, count, { [a.signal.name]: signal, ...store })
    }
  }

  const observeStore = (result: BatchObservableResult, stats: Answer<'stats'>) => {
    for (const lane of lanes)
      result.observe(on.queueDepth, stats.depth[lane], { [a.lane.name]: lane, ...store })
    result.observe(on.staleWrites, stats.staleWrites, store)
    const held = new Map<string, number>()
    for (const { key, running } of stats.quotas) {
      const label = quotaLabels.of(key)
      held.set(label, (held.get(label) ?? 0) + running)
    }
    for (const [label, count] of held)
      result.observe(on.quotaInFlight, count, { [a.quota.name]: label, ...store })
  }

  /** A label that was reported once stays in the SDK: a worker that has left runs nothing. */
  const observeWorkers = (result: BatchObservableResult, workers: Answer<'workers'>) => {
    const inFlight = new Map([...everReported].map((label) => [label, 0]))
    for (const worker of workers) {
      if (worker.processId !== source.storeInfo.processId) continue
      const label = workerLabels.of(worker.workerId)
      everReported.add(label)
      inFlight.set(label, (inFlight.get(label) ?? 0) + worker.inFlight)
    }
    for (const [label, count] of inFlight)
      result.observe(on.inFlight, count, { [a.workerId.name]: label, ...store })
  }

  /** Tasks that go on again are 0. */
  const observeStuck = (
    result: BatchObservableResult,
    found: readonly { readonly what: string; readonly type: string; readonly tasks: number }[],
  ) => {
    const counts = new Map([...stuckReported].map((labels) => [labels, 0]))
    for (const { what, type, tasks } of found) {
      const labels = JSON.stringify([stuckLabels.of(type), what.replaceAll(' ', '_')])
      stuckReported.add(labels)
      counts.set(labels, (counts.get(labels) ?? 0) + tasks)
    }
    for (const [labels, count] of counts) {
      const [type = '', as = ''] = JSON.parse(labels) as readonly string[]
      result.observe(on.stuck, count, { [a.taskType.name]: type, [a.stuckAs.name]: as, ...store })
    }
  }

  /** The worst of the routes that share a label counts; one that is well again, and forgotten, is 0. */
  const observeRoutes = (
    result: BatchObservableResult,
    routes: Awaited<ReturnType<NonNullable<TelemetrySource['routes']>>>,
  ) => {
    const worst = new Map([...routesReported].map((label) => [label, [0, 0, 0]]))
    for (const { route, pressure, scar, circuit } of routes) {
      const label = routeLabels.of(route)
      routesReported.add(label)
      const known = worst.get(label) ?? [0, 0, 0]
      const values = [pressure, scar, circuitValues[circuit]]
      worst.set(
        label,
        values.map((value, index) => Math.max(value, known[index] ?? 0)),
      )
    }
    for (const [label, values] of worst)
      for (const [index, metric] of routeMetrics.entries())
        result.observe(metric, values[index] ?? 0, { [a.taskType.name]: label, ...store })
  }

  meter.addBatchObservableCallback(callback, observables)
  return { [Symbol.dispose]: () => meter.removeBatchObservableCallback(callback, observables) }
}

type Answer<K extends 'stats' | 'workers'> = Awaited<ReturnType<TelemetrySource[K]>>

const circuitValues = { closed: 0, half_open: 1, open: 2 } as const

/** A store that does not answer must not hold up what other parts of the program export. */
const ANSWER_WITHIN_MS = 5_000
