import type { SharesConfig } from '../share/schema.ts'

/** A stream of queued tasks, with the values that the order among streams depends on. */
export interface QueuedStream {
  /** The rank of its lane, or the rank that waiting has raised it to, which may be below 0. */
  readonly laneRank: number
  /** The client of the tasks, where there are shares. */
  readonly client: string
  /** How many are queued. */
  readonly depth: number
  /** How many of them were submitted before the task that is asked about. */
  readonly earlier: number
  /** The time that its first task adds to its client's virtual time. */
  readonly increment: number
  /** Under enqueue keying: the place of its first task. */
  readonly place: number
}

/** A client as the order sees it; `tier` is the same for all where tiers are weighted. */
export interface Standing {
  readonly tier: number
  readonly time: number
}

/** The task that is asked about. */
export interface Asking {
  readonly laneRank: number
  readonly client: string
  /** Under enqueue keying: its place. */
  readonly place: number
}

/** How many tasks come before one without shares: those of more urgent lanes, and those of its own that were submitted before. */
export function aheadByLane(own: Pick<Asking, 'laneRank'>, streams: Iterable<QueuedStream>): number {
  let sum = 0
  for (const { laneRank, depth, earlier } of streams)
    if (laneRank < own.laneRank) sum += depth
    else if (laneRank === own.laneRank) sum += earlier
  return sum
}

/**
 * How many tasks come before one by the shares of their clients, if no other task arrived: computed in one
 * pass over the streams from virtual times, increments and depths. Exact if the tasks of a client have equal
 * costs. A stream that waiting has raised is given with its present rank. Source: `docs/semantics.md` C5,
 * 11.2.
 */
export function aheadByShares(
  own: Asking,
  streams: Iterable<QueuedStream>,
  standings: ReadonlyMap<string, Standing>,
  keying: SharesConfig['keying'],
): number {
  const clients = new Map<string, Demand>()
  let sum = 0
  for (const stream of streams) {
    if (stream.laneRank > own.laneRank) continue
    const demand = clients.get(stream.client) ?? { ...standingOf(standings, stream.client), ...nothing }
    clients.set(stream.client, demand)
    if (stream.laneRank < own.laneRank) {
      // They all go first, and are charged by then.
      sum += stream.depth
      demand.time += stream.depth * stream.increment
    } else {
      demand.depth += stream.depth
      demand.earlier += stream.earlier
      demand.cost += stream.depth * stream.increment
      demand.places.push(stream)
    }
  }
  const mine = clients.get(own.client) ?? { ...standingOf(standings, own.client), ...nothing }
  const turn = mine.time + mine.earlier * incrementOf(mine)
  for (const [name, demand] of clients) {
    if (demand.tier > mine.tier) continue
    if (demand.tier < mine.tier) sum += demand.depth
    else if (name === own.client) sum += demand.earlier
    else if (keying === 'enqueue') sum += placedBefore(own.place, demand)
    else sum += Math.min(demand.depth, startsBefore(turn, demand))
  }
  return sum
}

interface Demand {
  readonly tier: number
  time: number
  depth: number
  earlier: number
  /** The time that all of its tasks in the lane would add. */
  cost: number
  readonly places: QueuedStream[]
}

const nothing = { depth: 0, earlier: 0, cost: 0 }

function standingOf(
  standings: ReadonlyMap<string, Standing>,
  client: string,
): Standing & { places: QueuedStream[] } {
  return { ...(standings.get(client) ?? { tier: 0, time: 0 }), places: [] }
}

function incrementOf({ cost, depth }: Demand): number {
  return depth === 0 ? 0 : cost / depth
}

/**
 * The client's tasks start at its time, and one increment later each. At equal times the sequence decides.
 */
function startsBefore(turn: number, demand: Demand): number {
  const { time, earlier } = demand
  if (time > turn) return 0
  const increment = incrementOf(demand)
  if (increment === 0) return time < turn ? demand.depth : earlier
  const steps = (turn - time) / increment
  const before = Math.ceil(steps)
  return before === steps && earlier > steps ? before + 1 : before
}

/** Places were given when the tasks were queued, none above what their client's time is now. */
function placedBefore(place: number, { time, places }: Demand): number {
  return places.reduce((sum, stream) => {
    if (time < place) return sum + stream.depth
    return stream.place > place ? sum : sum + stream.earlier
  }, 0)
}
