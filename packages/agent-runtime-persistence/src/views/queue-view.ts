import {
  aheadByLane,
  aheadByShares,
  agedRank,
  clientTiers,
  effectiveWeight,
  type Lane,
  lanes,
  MICRO,
  pauseOf,
  type QueuePause,
  quotaObstacle,
  quotaStateOf,
  runsType,
  shareIncrement,
  slotShortage,
  takesLane,
  suspectFrom,
  tierWeights,
  type ExecutionConfig,
  type Explanation,
  type QueuedStream,
  type QueuePlace,
  type Standing,
  type StartEstimate,
  type WorkerStatus,
} from '@ku0/agent-runtime-core'
import {
  isSilent,
  pausesIn,
  toReserve,
  wantsCredits,
  type AccountRow,
  type ClientRow,
  type Instant,
  type QuotaRow,
  type StreamRow,
  type TaskRow,
} from '@ku0/agent-runtime-core/transition'
import { costIn } from '../sqlite/cost-in.ts'
import type { StoredTables } from '../sqlite/stored-tables.ts'
import type { Queries } from './queries.ts'

export interface QueueContext {
  readonly db: Queries
  readonly tables: StoredTables
  readonly config: ExecutionConfig
  readonly now: () => Instant
}

/** What keeps the tasks of a stream from starting, whoever comes first. */
export type Obstacle = Required<Pick<Explanation, 'waitsFor' | 'summary'>> &
  Pick<Explanation, 'until' | 'quota' | 'credits'>

/** The queue at one moment: every answer from the same rows. */
export type QueueView = ReturnType<ReturnType<typeof prepareQueueView>>

/** Recent starts are those of this long. */
const RECENT_MS = 60_000
/** Of this many leases at the most. */
const MAX_RECENT = 1_000
/** A rate of less than this tells nothing. */
const LEAST_MS = 1_000

/** Reads what a look at the queue needs: in time by streams, not by tasks, but for those before the one asked about. */
export function prepareQueueView(context: QueueContext, workers: () => readonly WorkerStatus[]) {
  const { db, tables, now } = context
  const { load } = tables
  const earlier = db
    .prepare<[number, number], number>(
      'SELECT count(*) FROM task WHERE stream = ? AND state = 0 AND due_at IS NULL AND id < ?',
    )
    .pluck()
  const lifted = db
    .prepare<[number, number, number, number], number>(
      'SELECT count(*) FROM task WHERE stream = ? AND state = 0 AND due_at IS NULL AND (queued_at <= ? OR (queued_at <= ? AND id < ?))',
    )
    .pluck()
  const liftedParts = db
    .prepare<[number, number, number, number, number, number, number], [number, number, number]>(
      'SELECT total(queued_at <= ?), total(queued_at > ? AND queued_at <= ?), total(queued_at > ? AND queued_at <= ? AND id < ?) FROM task WHERE stream = ? AND state = 0 AND due_at IS NULL',
    )
    .raw()
  const heads = db.prepare<[], { id: number; account: string | null }>(
    'SELECT stream.id, task.account FROM stream JOIN task ON task.id = stream.head AND task.stream = stream.id WHERE stream.depth > 0 AND task.account IS NOT NULL',
  )
  const recent = db
    .prepare<[number], [number, number]>('SELECT worker, acquired_at FROM lease ORDER BY id DESC LIMIT ? + 0')
    .raw()
  const registered = db.prepare<[], { id: number; worker_id: string }>(
    'SELECT id, worker_id FROM worker WHERE registered = 1',
  )

  const suspecting = db
    .prepare<[number], string>(
      'SELECT DISTINCT worker.worker_id FROM worker WHERE worker.registered = 1 AND worker.process IN (SELECT lease.process FROM lease JOIN task ON task.id = lease.task WHERE lease.state = 0 AND task.crashes >= ?)',
    )
    .pluck()
  const crashesOfFirst = db
    .prepare<[number], number>(
      'SELECT crashes FROM task WHERE stream = ? AND state = 0 AND due_at IS NULL ORDER BY id LIMIT 1',
    )
    .pluck()

  const accountOfFirst = db
    .prepare<[number], string | null>(
      'SELECT account FROM task WHERE stream = ? AND state = 0 AND due_at IS NULL ORDER BY id LIMIT 1',
    )
    .pluck()

  return function view() {
    const { at, leaseAt } = now()
    const fromCrashes = suspectFrom(context.config.maxCrashes)
    /** The workers in whose process a suspect runs. */
    const taken = new Set(suspecting.all(fromCrashes))
    const all = load.streams()
    const byId = new Map(all.map((stream) => [stream.id, stream]))
    const queued = all.filter(({ depth }) => depth > 0)
    const present = workers().filter(
      ({ lastSeenAt }) => !isSilent(lastSeenAt, leaseAt, context.config.leaseTtlMs),
    )
    const live = present.filter(({ state }) => state !== 'draining')
    const counted = load.quotas()
    const quotas = new Map<string, QuotaRow>(counted.map((quota) => [quota.key, quota]))
    const pauses = pausesIn(counted)
    const ableFor = new Map<string, readonly WorkerStatus[]>()

    /** Whether a worker may be given tasks of a stream. */
    function takes({ types, lanes: own }: WorkerStatus, { type, laneRank }: StreamRow): boolean {
      return runsType(types, type) && takesLane({ lanes: own }, lanes[laneRank])
    }

    /** The live workers that run the type and the lane of a stream. */
    function able(stream: StreamRow): readonly WorkerStatus[] {
      const name = `${stream.laneRank} ${stream.type}`
      const known = ableFor.get(name) ?? live.filter((worker) => takes(worker, stream))
      ableFor.set(name, known)
      return known
    }

    function withoutWorker(stream: StreamRow): string {
      const { type, laneRank } = stream
      const drained = present.filter((worker) => takes(worker, stream)).map(({ workerId }) => workerId)
      if (drained.length === 0 && present.some(({ types }) => runsType(types, type)))
        return `no worker that runs type ${type} takes tasks from the lane ${lanes[laneRank]}; start one that does`
      if (drained.length === 0) return `no worker runs type ${type}; start one that runs it`
      return `no worker takes tasks of type ${type}: ${drained.join(', ')} is drained; undrain it, or start another`
    }

    /** Whether a stream waits with its first task, for which there is no process that runs no suspect. */
    function isQuarantined(stream: StreamRow): boolean {
      if (taken.size === 0 || !able(stream).every(({ workerId }) => taken.has(workerId))) return false
      return (crashesOfFirst.get(stream.id) ?? 0) >= fromCrashes
    }

    /** Why a stream waits for credits of its client. */
    function creditsWanted(stream: StreamRow): Required<Pick<Obstacle, 'summary' | 'credits'>> | undefined {
      const { id, client: name } = stream
      const client = load.client(name)
      const text = accountOfFirst.get(id) ?? null
      const account = text === null ? null : (JSON.parse(text) as AccountRow)
      const credits = client?.credits ?? (context.config.shares?.startCredits ?? 0) * MICRO
      if (!wantsCredits(sellingFor(stream, client, account), credits, account)) return undefined
      const whose = name === '' ? 'the client without a name' : `client ${name}`
      const shell =
        name === ''
          ? ", or agent-runtime credits buy '' AMOUNT; tasks that name no client are paid for by the client ''"
          : /^[\w.@-]+$/.test(name)
            ? `, or agent-runtime credits buy ${name} AMOUNT`
            : ''
      const cost = account?.cost ?? MICRO
      const [has, asked, missing] = [credits / MICRO, cost / MICRO, (cost - credits) / MICRO]
      const since = client?.asks?.at
      const open = since === undefined ? '' : '; the client was asked for them'
      return {
        summary: `${whose} has ${has} credits, and the task that comes next in its queue is estimated to cost ${asked}: ${missing} missing${open}; buy credits with credits.purchase${shell}`,
        credits: { client: name, credits: has, asked, missing, ...(since === undefined ? {} : { since }) },
      }
    }

    /**
     * The settings by which credits are sold. A process that only looks may not have them: then the client's ledger says that they are, and the
     * task's agreement what happens without. Where that is silent, too, a slot that is free and is not given tells it.
     */
    function sellingFor(
      stream: StreamRow,
      client: ClientRow | undefined,
      account: AccountRow | null,
    ): Parameters<typeof wantsCredits>[0] {
      const { shares } = context.config
      if (shares?.ledger === true) return shares
      if (client === undefined || client.entries === 0) return undefined
      const isPassedOver = able(stream).some(({ capacity, inFlight }) => inFlight < capacity)
      if (account?.outOfCredits === undefined && !isPassedOver) return undefined
      return { ledger: true, outOfCredits: 'park' }
    }

    function obstacle(stream: StreamRow, task: Pick<TaskRow, 'fence' | 'tokens'>): Obstacle | undefined {
      const { type, laneRank, quotaKeys } = stream
      const pause = pauseOf(pauses, { type, lane: lanes[laneRank] as Lane })
      if (pause !== undefined) return { summary: pauseText(pause), waitsFor: 'paused' }
      if (able(stream).length === 0) return { summary: withoutWorker(stream), waitsFor: 'worker' }
      for (const key of quotaKeys) {
        const counters = quotas.get(key)
        const found = counters && quotaObstacle(context.config.quotaConfig, counters, at, toReserve(task))
        if (found !== undefined)
          return {
            ...found,
            waitsFor: `quota:${key}`,
            quota: quotaStateOf(context.config.quotaConfig, counters as QuotaRow, at),
          }
      }
      const credits = creditsWanted(stream)
      if (credits !== undefined) return { ...credits, waitsFor: 'credits' }
      if (isQuarantined(stream))
        return {
          summary:
            'lost leases to crashes, or is queued behind a task that did: it waits until no other such task runs in its process',
          waitsFor: 'suspect',
        }
      return undefined
    }

    return {
      at,
      queued,
      delayed: all.reduce((sum, stream) => sum + stream.delayed, 0),
      streamOf: ({ stream }: TaskRow) => (stream === null ? undefined : byId.get(stream)),
      obstacle,

      /** Whether the tasks of a pipeline have to share slots. */
      shortage: (rows: readonly TaskRow[]) =>
        slotShortage(
          rows.map(({ stream }) => byId.get(stream ?? 0)?.type ?? ''),
          live,
        ),

      /** Where a queued task stands, and when it is likely to start; what keeps it from starting is given. */
      placeOf(
        row: TaskRow,
        own: StreamRow,
        hindered: Obstacle | undefined,
      ): { place: QueuePlace; start: StartEstimate } {
        const order = orderOf(row, own)
        const open = queued.filter((stream) => obstacle(stream, anyTask) === undefined)
        const ahead = order.ahead(queued)
        const heldUp = Math.max(0, ahead - order.ahead(open))
        const { agingMs } = context.config
        const waited = Math.max(0, at - row.queuedAt)
        const place: QueuePlace = {
          lane: lanes[own.laneRank] ?? 'normal',
          rank: agingMs === undefined ? own.laneRank : agedRank(own.laneRank, waited, agingMs),
          ...(agingMs === undefined
            ? {}
            : { liftedAt: row.queuedAt + agingMs * (Math.floor(waited / agingMs) + 1) }),
          queuedAt: row.queuedAt,
          ahead,
          heldUp,
          ...(order.client === undefined ? {} : { client: order.client }),
        }
        const hands = able(own)
        const rivals = open.filter((stream) => hands.some((worker) => takes(worker, stream)))
        return { place, start: estimate(hindered, hands, order.ahead(rivals)) }
      },
    }

    /** The order among streams as it is for one task. */
    function orderOf(row: TaskRow, own: StreamRow) {
      const { shares, agingMs } = context.config
      const before = new Map<number, number>()
      const earlierIn = (stream: StreamRow): number => {
        // More urgent lanes come whole, less urgent ones not at all.
        if (stream.laneRank !== own.laneRank) return 0
        const known = before.get(stream.id) ?? earlier.get(stream.id, row.id) ?? 0
        before.set(stream.id, known)
        return known
      }
      if (shares === undefined) {
        if (agingMs !== undefined) return { client: undefined, ahead: aheadByAge(row, own, agingMs) }
        const plain = (stream: StreamRow) => queuedStream(stream, earlierIn(stream), 0)
        return {
          client: undefined,
          ahead: (streams: readonly StreamRow[]) => aheadByLane(own, streams.map(plain)),
        }
      }
      const rows = new Map<string, ClientRow>(load.clients().map((client) => [client.name, client]))
      const tierOf = ({ tier }: ClientRow) =>
        shares.tierPolicy === 'weighted' ? 0 : clientTiers.indexOf(tier)
      const standings = new Map<string, Standing>(
        [...rows].map(([name, client]) => [name, { tier: tierOf(client), time: client.time }]),
      )
      const weights = new Map<string, number>()
      const weightOf = ({ name, tier }: ClientRow): number => {
        const beta = shares.reputationBeta
        if (beta === 0) return tierWeights[tier]
        const known =
          weights.get(name) ??
          effectiveWeight(tierWeights[tier], beta, load.evaluations.reputation(name)?.reputation)
        weights.set(name, known)
        return known
      }
      const costs = new Map(heads.all().map(({ id, account }) => [id, costIn(account)]))
      const increment = ({ id, client }: StreamRow): number => {
        const owner = rows.get(client)
        const credits = owner?.credits ?? shares.startCredits * MICRO
        const weight = owner === undefined ? tierWeights.marketplace : weightOf(owner)
        return shareIncrement(costs.get(id) ?? MICRO, credits, weight)
      }
      const shared = (stream: StreamRow) => queuedStream(stream, earlierIn(stream), increment(stream))
      const asking = {
        laneRank: own.laneRank,
        client: own.client,
        place: row.account?.place ?? rows.get(own.client)?.time ?? 0,
      }
      const owner = rows.get(own.client)
      const rank = agingMs === undefined ? own.laneRank : agedRank(own.laneRank, at - row.queuedAt, agingMs)
      const ranked =
        agingMs === undefined
          ? (stream: StreamRow) => [shared(stream)]
          : (stream: StreamRow) => rankedStreams(stream, { row, own, rank, agingMs }, increment(stream))
      return {
        client: owner === undefined ? undefined : clientPlace(owner),
        ahead: (streams: readonly StreamRow[]) =>
          aheadByShares({ ...asking, laneRank: rank }, streams.flatMap(ranked), standings, shares.keying),
      }

      function clientPlace(client: ClientRow): QueuePlace['client'] {
        const tier = tierOf(client)
        const times = queued.flatMap((stream) => {
          const other = rows.get(stream.client)
          return other !== undefined && tierOf(other) === tier ? [other.time] : []
        })
        const lane = queued.filter((stream) => stream.client === client.name)
        return {
          name: client.name,
          tier: client.tier,
          credits: client.credits / MICRO,
          virtualTime: client.time / MICRO,
          leastVirtualTime: times.reduce((least, time) => Math.min(least, time), client.time) / MICRO,
          ahead: lane.reduce((sum, stream) => sum + earlierIn(stream), 0),
        }
      }
    }

    /** By the ranks that waiting has lifted the tasks to by now. */
    function aheadByAge(row: TaskRow, own: StreamRow, agingMs: number) {
      const rank = agedRank(own.laneRank, at - row.queuedAt, agingMs)
      return (streams: readonly StreamRow[]): number =>
        streams.reduce((sum, { id, laneRank }) => {
          const same = laneRank > rank ? at - (laneRank - rank) * agingMs : Number.MAX_SAFE_INTEGER
          const more = laneRank >= rank ? at - (laneRank - rank + 1) * agingMs : Number.MAX_SAFE_INTEGER
          return sum + (lifted.get(id, more, same, row.id) ?? 0)
        }, 0)
    }

    /**
     * The part of a stream that waiting has lifted before a task by now, and the part that stands beside it. In its own group a task that is
     * lifted comes after those that were submitted before it, whoever's, and before all others.
     */
    function rankedStreams(
      stream: StreamRow,
      { row, own, rank, agingMs }: { row: TaskRow; own: StreamRow; rank: number; agingMs: number },
      increment: number,
    ): readonly QueuedStream[] {
      const { id, laneRank, group } = stream
      const part = (lane: number, depth: number, before: number) =>
        queuedStream({ ...stream, laneRank: lane, depth }, before, increment)
      if (rank < own.laneRank && group === own.group) return [part(rank - 1, earlier.get(id, row.id) ?? 0, 0)]
      if (laneRank < rank) return [part(rank - 1, stream.depth, 0)]
      const beyond = at - (laneRank - rank + 1) * agingMs
      const beside = laneRank === rank ? Number.MAX_SAFE_INTEGER : beyond + agingMs
      const [before = 0, same = 0, earlierOfSame = 0] =
        liftedParts.get(beyond, beyond, beside, beyond, beside, row.id, id) ?? []
      return [part(rank - 1, before, 0), part(rank, same, earlierOfSame)]
    }

    function estimate(
      hindered: Obstacle | undefined,
      hands: readonly WorkerStatus[],
      ahead: number,
    ): StartEstimate {
      if (hindered?.waitsFor === 'paused')
        return { startsInMs: null, restsOn: { as: 'nothing', because: 'paused' } }
      if (hands.length === 0) return { startsInMs: null, restsOn: { as: 'nothing', because: 'no_worker' } }
      if (hindered?.quota !== undefined)
        return hindered.until === undefined
          ? { startsInMs: null, restsOn: { as: 'nothing', because: 'other_tasks' } }
          : {
              startsInMs: Math.max(0, hindered.until - at),
              restsOn: { as: 'quota', key: hindered.quota.key },
            }
      if (hindered?.waitsFor === 'credits')
        return { startsInMs: null, restsOn: { as: 'nothing', because: 'no_credits' } }
      if (hindered?.waitsFor === 'suspect')
        return { startsInMs: null, restsOn: { as: 'nothing', because: 'other_tasks' } }
      const { starts, overMs } = startsOf(new Set(hands.map(({ workerId }) => workerId)))
      if (starts === 0 || overMs < LEAST_MS)
        return { startsInMs: null, restsOn: { as: 'nothing', because: 'no_recent_starts' } }
      return {
        startsInMs: Math.ceil(((ahead + 1) * overMs) / starts),
        restsOn: { as: 'starts', starts, overMs },
      }
    }

    /** What these workers started in the last minute; where they have started nothing before that, since the first start. */
    function startsOf(names: ReadonlySet<string>): { starts: number; overMs: number } {
      const ids = new Set(registered.all().flatMap(({ id, worker_id }) => (names.has(worker_id) ? [id] : [])))
      const times = recent
        .all(MAX_RECENT)
        .flatMap(([worker, acquiredAt]) => (ids.has(worker) ? [acquiredAt] : []))
      const since = leaseAt - RECENT_MS
      const starts = times.filter((time) => time > since)
      const isWhole = starts.length < times.length
      return { starts: starts.length, overMs: isWhole ? RECENT_MS : leaseAt - Math.min(leaseAt, ...starts) }
    }
  }
}

function pauseText(pause: QueuePause): string {
  const [what, name] = 'type' in pause ? (['type', pause.type] as const) : (['lane', pause.lane] as const)
  return `the ${what} ${name} is paused since ${new Date(pause.since).toISOString()}; resume it with agent-runtime resume --${what} ${name}, or resumeQueue`
}

/** A task that needs no tokens: what has no room for it has none for any. */
const anyTask = { fence: 0, tokens: 0 } as const

function queuedStream(
  { laneRank, client, depth, place }: StreamRow,
  earlier: number,
  increment: number,
): QueuedStream {
  return { laneRank, client, depth, place, earlier, increment }
}
