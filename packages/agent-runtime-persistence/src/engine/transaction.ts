import type { Write } from '@ku0/agent-runtime-core'
import { openWorkingSet, type Surroundings } from '@ku0/agent-runtime-core/transition'
import type { Cache } from './cache.ts'
import type { Database, Haste, Sent } from './database.ts'
import { flush, type Flushed, type FlushWork } from './flush.ts'
import type { HeldLeases } from './held-leases.ts'
import type { InForce } from './in-force.ts'
import type { LineAnswers } from './line-answers.ts'
import type { OwnWorkers } from './own-workers.ts'
import { got, type Steps } from './steps.ts'
import { warm } from './warm.ts'

interface TransactionParts {
  readonly inForce: InForce
  readonly around: Surroundings
  readonly db: Database
  readonly cache: Cache
  readonly held: HeldLeases
  readonly own: OwnWorkers
  readonly lines: LineAnswers
}

/** What a flush does besides: this process shows that it lives. */
export interface TransactionWork extends Omit<FlushWork, 'returning'> {
  readonly showing: boolean
  /** Whether its commit is waited for, whatever the database can do. */
  readonly waits: boolean
  /** Whether other calls wait for the next flush. */
  readonly hasMore: boolean
  /** Whether it finds nothing to do but its calls and a renewal that is not late. */
  readonly hasTime: boolean
  /** Whether it only looks where that can be without the lock. With the lock it does what it finds. */
  readonly looks: boolean
}

/** How a transaction ended. `foreign`: another process had written since the one before. */
export type TransactionEnd =
  | { readonly as: 'committed'; readonly flushed: Flushed; readonly foreign: boolean }
  /** Its commit is on its way, or the answer to it is lost. */
  | { readonly as: 'sent'; readonly flushed: Flushed; readonly foreign: boolean; readonly sent: Sent }
  /** Nothing was written. `finds`: there is something to write, for which the lock is needed. */
  | { readonly as: 'looked'; readonly flushed: Flushed; readonly foreign: boolean; readonly finds: boolean }
  /** Another process holds the lock, or the database went away: nothing was done. */
  | { readonly as: 'busy' }
  /** Nothing of it has happened. */
  | { readonly as: 'failed'; readonly error: unknown }

/** One flush in one transaction: begun, brought up to date with what others wrote, flushed, committed; or undone. */
export function* transact(it: TransactionParts, work: TransactionWork): Steps<TransactionEnd> {
  const { db } = it
  if (work.looks && (yield* got(db.beginReading()))) return yield* look(it, work)
  if (!(yield* got(db.begin(hasteOf(work))))) return { as: 'busy' }
  try {
    const foreign = yield* catchUp(it)
    if (work.gone.length > 0) yield* outlive(it, work.gone)
    const now = db.now()
    // One that others cannot see would be taken for dead again, with the tasks that it was given meanwhile.
    const returning = db.isSeen ? it.own.returning(it.cache.workers, work.demand) : []
    const showing = work.showing || returning.length > 0
    if (showing || work.gone.length > 0) yield* got(db.show(showing, work.gone, now.at))
    const flushed = yield* flush(db, it.cache, it.around, now, { ...work, returning, looks: false }, it.lines)
    const isLast = !work.hasMore && isCalm(work, it.cache, flushed)
    const sent = work.waits ? undefined : db.send(isLast)
    if (sent !== undefined) return { as: 'sent', flushed, foreign, sent }
    const unknown = yield* got(db.commit(isLast))
    return unknown === undefined
      ? { as: 'committed', flushed, foreign }
      : { as: 'sent', flushed, foreign, sent: unknown }
  } catch (error) {
    it.held.drop()
    it.cache.clear()
    yield* got(db.rollback())
    if (db.isPassing(error)) return { as: 'busy' }
    return { as: 'failed', error }
  }
}

function hasteOf({ operations, hasTime }: TransactionWork): Haste {
  return {
    isAwaited: operations.some(isCallersOwn),
    hasMuch: operations.length >= manyCalls,
    hasTime: hasTime && operations.every(isOfPast),
  }
}

/** Whether somebody waits for the answer who is no handler, or for the end of a process that gives its tasks back. */
function isCallersOwn(operation: Write): boolean {
  if ('leaseId' in operation) return operation.kind === 'release' && operation.reason === 'drained'
  return !isOfPast(operation)
}

/** Samples are of minutes that are over. */
function isOfPast({ kind }: Write): boolean {
  return kind === 'sample'
}

/** What others wrote is taken in, as of one moment. What there is to do is decided, and comes to nothing: it is decided again under the lock. */
function* look(it: TransactionParts, work: TransactionWork): Steps<TransactionEnd> {
  const { db, cache, around, held, own, lines } = it
  try {
    const foreign = yield* catchUp(it)
    const now = db.now()
    const isMissing = own.returning(cache.workers, work.demand).length > 0
    const { wrote } = yield* flush(db, cache, around, now, { ...work, returning: [] }, lines)
    yield* got(db.rollback())
    const ws = openWorkingSet(cache, now, around)
    const flushed = { outcomes: [], claims: [], ws, wrote: false }
    return { as: 'looked', flushed, foreign, finds: wrote || isMissing }
  } catch (error) {
    held.drop()
    cache.clear()
    yield* got(db.rollback())
    if (db.isPassing(error)) return { as: 'busy' }
    return { as: 'failed', error }
  }
}

/** Whether a flush was small and leaves nothing running in this process, which would soon have something to write. */
function isCalm({ operations }: TransactionWork, { running }: Cache, { ws, claims }: Flushed): boolean {
  const { changed } = ws.leases
  if (operations.length > fewCalls || claims.length > 0 || running.size > changed.size) return false
  for (const id of running.keys()) if ((changed.get(id)?.state ?? 'running') === 'running') return false
  return true
}

const fewCalls = 4
/** Who has so many at once works off a queue. */
const manyCalls = 64

/** When another process wrote since the last look, perhaps of a later version, what is kept is read anew. True if so. */
function* catchUp(it: TransactionParts): Steps<boolean> {
  const { db, cache, held, own } = it
  const since = cache.warm ? db.lastCommit : undefined
  const foreign = yield* got(db.hasForeignChanges())
  if (cache.warm && !foreign) return false
  const before = held.takeDropped()
  yield* warmed(it, since)
  yield* held.noticeChanges(before)
  own.compare(cache.workers)
  return foreign
}

/** Where other settings of the store are in force than before, all that is kept is read by them. */
function* warmed({ inForce, around, db, cache }: TransactionParts, since: number | undefined): Steps<void> {
  const row = yield* warm(cache, db, { since, now: db.now(), around })
  if (!(yield* inForce.take(row))) return
  cache.clear()
  yield* warm(cache, db, { since: undefined, now: db.now(), around })
}

/** Processes are gone, perhaps the last of those that stated the settings in force. */
function* outlive(it: TransactionParts, gone: readonly number[]): Steps<void> {
  const { inForce, db, cache } = it
  if (!(yield* inForce.take(yield* got(db.configurationWithout(gone))))) return
  cache.clear()
  yield* warm(cache, db, { since: undefined, now: db.now(), around: it.around })
}
