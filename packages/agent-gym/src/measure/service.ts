import { tierWeights } from '@ku0/agent-runtime-core'
import type { Run, TaskFact } from './measurements.ts'
import { jainIndex } from './statistics.ts'
import { firstStarts } from './timeline.ts'

/** A first start of a task of one of the scenario's clients, in the order in which the store decided them. */
export interface Serving {
  readonly client: string
  readonly at: number
  readonly cost: number
  /** Every client had a task queued just before: only then can shares be told. From 1, the stretch of such starts; null outside of one. */
  readonly stretch: number | null
}

/** What a client was served while all had tasks queued. */
export interface Service {
  readonly client: string
  readonly credits: number
  readonly served: number
  /** Of what all were served, and what it should be by credits and weight. */
  readonly part: number
  readonly due: number
}

/** Every first start, and whether all clients had tasks queued. Empty where the scenario names no clients. */
export function servingsOf(run: Run): readonly Serving[] {
  const depth = new Map(run.clients.map(({ name }) => [name, 0]))
  const starts = firstStarts(run).filter(({ task }) => isOfClient(task, depth))
  const arrivals = run.tasks
    .filter((task) => isOfClient(task, depth) && task.state !== 'rejected')
    .map((task) => ({ client: task.client ?? '', at: queuedAt(task) }))
    .toSorted((a, b) => a.at - b.at)
  const add = (client: string, by: number) => depth.set(client, (depth.get(client) ?? 0) + by)
  let arrived = 0
  let stretch = 0
  let isOpen = false
  return starts.map(({ task, from }) => {
    for (let next = arrivals[arrived]; next !== undefined && next.at <= from; next = arrivals[arrived]) {
      add(next.client, 1)
      arrived += 1
    }
    const areAll = [...depth.values()].every((queued) => queued > 0)
    if (areAll && !isOpen) stretch += 1
    isOpen = areAll
    const client = task.client ?? ''
    add(client, -1)
    return { client, at: from, cost: task.cost, stretch: areAll ? stretch : null }
  })
}

/** By client, while all had tasks queued; null where that never was, or where strict tiers leave nothing to share. */
export function serviceOf(run: Run): readonly Service[] | null {
  if (isRanked(run)) return null
  const servings = servingsOf(run).filter(({ stretch }) => stretch !== null)
  const total = servings.reduce((sum, { cost }) => sum + cost, 0)
  if (total === 0) return null
  const weights = weightsOf(run)
  const all = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  return run.clients.map(({ name, credits }) => {
    const served = servings.reduce((sum, { client, cost }) => sum + (client === name ? cost : 0), 0)
    return { client: name, credits, served, part: served / total, due: (weights.get(name) ?? 0) / all }
  })
}

/** Jain's index of what clients were served for each credit. */
export function serviceJain(run: Run): number | null {
  return jainIndex((serviceOf(run) ?? []).map(({ part, due }) => part / due))
}

/** The largest difference between a client's part of the service and its due; of all service, 0 to 1. */
export function serviceError(run: Run): number | null {
  const service = serviceOf(run)
  return service === null ? null : Math.max(...service.map(({ part, due }) => Math.abs(part - due)))
}

/** The same as a part of what is due to the client, which a small client is held to as much as a large one. */
export function dueError(run: Run): number | null {
  const service = serviceOf(run)
  return service === null ? null : Math.max(...service.map(({ part, due }) => Math.abs(part / due - 1)))
}

/**
 * How far the weighed service of two clients was apart at any time while all had tasks queued, counted from where that began, in units
 * of the most that a single task adds. Reckoned from costs and credits, not from what the store says of its clients.
 */
export function shareGap(run: Run): number | null {
  const weights = weightsOf(run)
  const added = ({ client, cost }: Serving) => cost / (weights.get(client) ?? 1)
  const all = servingsOf(run)
  const servings = all.filter(({ stretch }) => stretch !== null)
  if (servings.length === 0) return null
  const largest = Math.max(...all.map(added))
  let stretch: number | null = null
  let widest = 0
  const times = new Map<string, number>()
  for (const serving of servings) {
    if (serving.stretch !== stretch) for (const name of weights.keys()) times.set(name, 0)
    stretch = serving.stretch
    times.set(serving.client, (times.get(serving.client) ?? 0) + added(serving))
    widest = Math.max(widest, Math.max(...times.values()) - Math.min(...times.values()))
  }
  return widest / largest
}

/** Whether one client comes before another whatever it was served: then nothing is due to anybody. */
function isRanked({ clients, config }: Run): boolean {
  const tiers = new Set(clients.map(({ tier }) => tier))
  return config.shares?.tierPolicy !== 'weighted' && tiers.size > 1
}

/** What a client's share goes by. */
function weightsOf({ clients, config }: Run): ReadonlyMap<string, number> {
  const isWeighted = config.shares?.tierPolicy === 'weighted'
  return new Map(
    clients.map(({ name, credits, tier }) => [
      name,
      Math.max(credits, 1) * (isWeighted ? tierWeights[tier] : 1),
    ]),
  )
}

function isOfClient({ client }: TaskFact, clients: ReadonlyMap<string, number>): boolean {
  return client !== null && clients.has(client)
}

function queuedAt(task: TaskFact): number {
  return task.events.find(({ type }) => type === 'task.queued')?.at ?? task.submittedAt
}
