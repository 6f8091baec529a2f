import type { Clock, Timer, Timers } from '@ku0/agent-runtime-core'
import type { Haste } from '../../engine/database.ts'
import { type Found, question, type Statement, statement } from '../connection/statement.ts'
import type { Session } from '../connection/session.ts'

interface TurnParts {
  readonly schema: string
  /** Whether a lock may outlive its transaction. */
  readonly hasSessions: boolean
  readonly clock: Clock
  readonly timers: Timers
  /** Where time stands still, a turn is one flush. */
  readonly isVirtual: boolean
  /** How long a lease of this process lasts without a renewal. */
  readonly leaseTtlMs: () => number
}

/**
 * While several processes commit, one at a time has the turn: a lock of its connection, which outlives its transactions. It decides its flushes one
 * upon the other, as if it were alone, and gives the turn back after a while, or when it has nothing to write. The others wait for it in the order in
 * which they came, and nobody goes to `head` without it: many that wait for that row at once hold each other up. The turn is a courtesy and protects
 * nothing: what is decided in it still fails where another process has moved `head`. The connection of a holder that stands still is ended by the
 * server. Source: `docs/decisions/0088-waiting-for-the-turn.md`.
 */
export class Turn {
  private readonly asking: Readonly<Record<'calm' | 'awaited' | 'little', readonly Statement[]>>
  private readonly look: Statement
  private readonly release: Statement
  private readonly endsStill: Statement
  private readonly it: TurnParts
  /** When it is to be given back, while this process has it. */
  private until: number | undefined
  /** When it would be over if it had begun with little to write. From then on it ends for others that have little, whatever it has itself. */
  private littleUntil = 0
  /** A flush is being decided: its commit gives the turn back if that is due by then. */
  private isDeciding = false
  /** Its flushes are large. */
  private hasMuch = false
  private timer: Timer | undefined
  /** When all that was sent was answered, until something follows. */
  private restsSince: number | undefined
  /** So long it is kept while there is nothing to write. */
  private lingerMs = leastLingerMs
  /** So often it was asked for since it was last given. */
  private asked = 0

  constructor(it: TurnParts) {
    this.it = it
    const { schema } = it
    const key = `hashtext('ku0 turn ${schema}')`
    // The server ends the connection of a holder that stands still.
    const idle = (ms: number) => `set_config('idle_session_timeout', '${ms}', false)`
    const lock = `SELECT pg_advisory_lock(${key}, 0), ${idle(stillMs)}`
    // Others wait for a lock on a table first. That wait needs no snapshot. A query that waits has one, and the server keeps every row that changes
    // meanwhile. The table hardly ever changes, so it needs no vacuum, which would ask for the same lock. No write of the store is held up.
    const line = `LOCK TABLE ${schema}.configuration IN SHARE UPDATE EXCLUSIVE MODE`
    // Nobody waits for the other locks: that somebody has one of them tells the holder of the first one.
    const hurrying = (number: number) => [
      `SELECT pg_advisory_lock_shared(${key}, ${number})`,
      line,
      lock,
      `SELECT pg_advisory_unlock_shared(${key}, ${number})`,
    ]
    const asking = (texts: readonly string[]) => [...texts, 'COMMIT'].map((text) => statement(text))
    this.asking = { calm: asking([line, lock]), awaited: asking(hurrying(1)), little: asking(hurrying(2)) }
    // It is refused where somebody has it, and held until the commit else.
    const isHeld = (number: number) => `NOT pg_try_advisory_xact_lock(${key}, ${number})`
    this.look = question(`SELECT ${isHeld(1)}, ${isHeld(2)}`)
    this.release = statement(`SELECT pg_advisory_unlock(${key}, 0), ${idle(0)}`)
    this.endsStill =
      statement(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle' AND state_change < now() - interval '${stillMs} ms'
      AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid = (${key}::bigint & 4294967295)::oid AND objid = 0 AND objsubid = 2)`)
  }

  /** Whether this process has it, and may begin a flush. */
  get isOn(): boolean {
    return this.until !== undefined && this.mono() < this.until
  }

  /** Whether there are turns. */
  get isThere(): boolean {
    return this.it.hasSessions
  }

  /**
   * Asks for it beside so many others. Turns before it end with the commits that are under way where this is `awaited`, or where it has `little` to write
   * and they have much, unless it `hasTime`. Rejects where it was not given in time: then it is asked for again.
   */
  async ask(session: Session, others: number, haste: Haste): Promise<void> {
    const { isAwaited, hasMuch, hasTime } = haste
    this.follows(haste)
    const waitMs = patienceMs(others)
    // In a transaction of its own: the next one may see what was committed by the time that the turn was given.
    const begins = [statement('BEGIN'), statement(limited, [waitMs])]
    const asking = this.asking[isAwaited ? 'awaited' : hasMuch || hasTime ? 'calm' : 'little']
    // The connection of an older program has no limit of rest. Where this role may not end it, nothing follows from that.
    if (this.asked >= mostInVain) session.batch([this.endsStill]).catch(() => undefined)
    this.asked += 1
    // The limit holds for each of the two locks.
    await session.batch([...begins, ...asking], 2 * waitMs)
    this.asked = 0
  }

  /** It was given to this process. `others`: how many may wait for it. */
  begins(session: Session, others: number, { hasMuch }: Haste): void {
    this.hasMuch = hasMuch
    const end = (isLong: boolean) =>
      this.mono() + (this.it.isVirtual ? 0 : turnMs(others, isLong, this.it.leaseTtlMs()))
    this.until = end(hasMuch)
    this.littleUntil = end(false)
    this.isDeciding = true
    this.arm(session, this.until)
  }

  /** A flush is begun. */
  decides(session: Session, haste: Haste): void {
    this.isDeciding = true
    this.hasMuch = haste.hasMuch
    this.follows(haste)
    if (this.until !== undefined) this.arm(session, this.until)
  }

  /** A commit is sent: what goes before it, in the same batch. `isLast`: nothing is likely to follow, so the turn is given back with it. */
  sends(isLast: boolean): readonly Statement[] {
    this.isDeciding = false
    if (this.until === undefined) return []
    if (this.isOn && !isLast) return [this.look]
    this.forget()
    return [this.release]
  }

  /** Whether somebody hurries: the answer to what went before a commit, or was asked in a rest. */
  hears(session: Session, [row]: Found['rows']): void {
    const [isAwaited, hasLittle] = row ?? []
    const goesFirst =
      isAwaited === 1 || (hasLittle === 1 && (this.hasMuch || this.mono() >= this.littleUntil))
    if (this.until === undefined || !goesFirst) return
    this.until = this.mono()
    if (!this.isDeciding) this.end(session)
  }

  /** Everything that was sent is answered. Handlers may have something to write at once. */
  rests(session: Session): void {
    if (this.until === undefined) return
    this.restsSince = this.mono()
    this.restOn(session, Math.min(this.until, this.restsSince + this.lingerMs))
  }

  /** Its commits tell who hurries. In a long rest it asks for that now and then. */
  private restOn(session: Session, end: number): void {
    if (this.mono() + leastLingerMs >= end) {
      this.arm(session, end)
      return
    }
    this.timer?.cancel()
    this.timer = this.it.timers.after(leastLingerMs, () => {
      session.batch([this.look]).then(
        ([found]) => this.hears(session, found?.rows ?? []),
        () => undefined,
      )
      this.restOn(session, end)
    })
  }

  /** Something is to be written after a rest. Handlers that take a little longer to have much again are waited for the next time. */
  private follows({ hasMuch }: Haste): void {
    if (this.restsSince === undefined) return
    const restMs = this.mono() - this.restsSince
    this.restsSince = undefined
    this.lingerMs =
      hasMuch && restMs < mostLingerMs
        ? Math.min(mostLingerMs, Math.max(leastLingerMs, 2 * restMs))
        : leastLingerMs
  }

  /** Gives it back, if this process has it. */
  end(session: Session): void {
    if (this.until === undefined) return
    this.forget()
    // Where the connection is lost, the server takes it back.
    if (session.lost === undefined) session.batch([this.release]).catch(() => undefined)
  }

  /** The connection does not hold it any more. */
  forget(): void {
    this.until = undefined
    this.isDeciding = false
    this.timer?.cancel()
    this.timer = undefined
  }

  private arm(session: Session, at: number): void {
    this.timer?.cancel()
    this.timer = this.it.timers.after(Math.max(0, at - this.mono()), () => {
      if (!this.isDeciding) this.end(session)
    })
  }

  private mono(): number {
    return this.it.clock.monotonic()
  }
}

/**
 * How long a turn is, in ms. Those of all processes take {@link roundMs} at the most, but for the flush by which each ends. They are shorter where none
 * of them has much to write, since no such turn ends early for one of the others.
 */
export function turnMs(others: number, hasMuch: boolean, leaseTtlMs: number): number {
  const amount = hasMuch ? 'much' : 'little'
  return Math.min(longestMs[amount], longestRound(amount, leaseTtlMs) / (others + 1))
}

/** A renewal of leases may have to wait for a whole round, so that takes a quarter of the time of a lease at the most. */
function longestRound(amount: keyof typeof roundMs, leaseTtlMs: number): number {
  return Math.min(roundMs[amount], leaseTtlMs / 4)
}

const longestMs = { much: 400, little: 200 }
const roundMs = { much: 800, little: 400 }
/** So long a process that has nothing to write keeps its turn, and the longest where its handlers were soon done before. */
const leastLingerMs = 4
const mostLingerMs = 16
/** The server waits so long for the turn, whatever it allows other statements. */
const limited = `SELECT set_config('lock_timeout', $1::text, true), set_config('statement_timeout', '0', true)`

/** How long a process waits for its turn before it asks again, and so loses its place: some rounds of many, in ms. */
export function patienceMs(others: number): number {
  return Math.min(mostPatienceMs, Math.max(leastPatienceMs, others * patienceForOneMs))
}

const leastPatienceMs = 5_000
const mostPatienceMs = 30_000
const patienceForOneMs = 150
/** A holder whose connection rests for so long outside of a transaction stands still. In one it has as long as any. */
const stillMs = 3_000
/** After so many waits in vain a process ends the connection of a holder that stands still, which the server has not done. */
const mostInVain = 2
