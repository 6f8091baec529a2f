import type { OutcomeOf, WriteKind } from '@ku0/agent-runtime-core'
import type { Database } from './database.ts'
import { got, type Steps } from './steps.ts'

/** Which call of a line a write is. */
export interface LineCall {
  /** The name of the line, the same after a cut. */
  readonly line: string
  /** Rises with every call of the line. */
  readonly seq: number
  /** The other end has the answers up to this one. */
  readonly acked: number
  /** It was sent before, and its answer may be lost. */
  readonly again?: true
}

type Outcome = OutcomeOf<WriteKind>

/** Calls of one flush that need no work: their outcomes are known, or are those of another call of the flush. */
export interface Recalled {
  readonly known: ReadonlyMap<number, Outcome>
  /** By place: that of the same call, which comes before it. */
  readonly same: ReadonlyMap<number, number>
}

/**
 * What became of the calls that came over lines, for as long as the other end may ask again. It is written in the transaction that did what a
 * call asked for, so a call whose answer was lost is answered and not done twice, whichever process of the store hears it again. Source:
 * `docs/decisions/0036-remote-workers.md`.
 */
export class LineAnswers {
  private readonly db: Database
  private readonly lines = new Map<string, ReadonlyMap<number, Outcome>>()
  /** As of the flush that is going on: they hold once it is committed. */
  private pending: [string, ReadonlyMap<number, Outcome>][] = []
  private sweptAt = 0

  constructor(db: Database) {
    this.db = db
  }

  /** Which calls of a flush were done before. In its transaction. */
  *recall(calls: readonly (LineCall | undefined)[]): Steps<Recalled> {
    // Of a flush before, which failed.
    this.pending = []
    if (!calls.some((call) => call?.again === true)) return nothing
    const known = new Map<number, Outcome>()
    const same = new Map<number, number>()
    const read = new Map<string, ReadonlyMap<number, Outcome>>()
    const places = new Map<string, number>()
    for (const [place, call] of calls.entries()) {
      if (call === undefined) continue
      const name = `${call.seq} ${call.line}`
      const first = places.get(name)
      if (first !== undefined) same.set(place, first)
      else places.set(name, place)
      if (call.again !== true || first !== undefined) continue
      // Another process of the store may have answered meanwhile: what this one remembers is not enough.
      const record = read.get(call.line) ?? answersIn(yield* got(this.db.lineRecord(call.line)))
      read.set(call.line, record)
      this.lines.set(call.line, record)
      const outcome = record.get(call.seq)
      if (outcome !== undefined) known.set(place, outcome)
    }
    return { known, same }
  }

  /** Keeps the outcomes of a flush that wrote something. In its transaction. */
  *keep(calls: readonly (LineCall | undefined)[], outcomes: readonly Outcome[], at: number): Steps<void> {
    const changed = new Map<string, Map<number, Outcome>>()
    for (const [place, call] of calls.entries()) {
      if (call === undefined) continue
      const answers = changed.get(call.line) ?? new Map(this.lines.get(call.line))
      changed.set(call.line, answers)
      for (const seq of answers.keys()) if (seq <= call.acked) answers.delete(seq)
      answers.set(call.seq, outcomes[place])
    }
    if (changed.size === 0) return
    for (const [line, answers] of changed)
      yield* got(this.db.keepLine(line, JSON.stringify({ at, calls: [...answers] })))
    this.pending = [...changed]
    if (at - this.sweptAt < sweepEveryMs) return
    this.sweptAt = at
    yield* got(this.db.dropLines(at - keptMs))
  }

  /** The flush was committed. */
  committed(): void {
    for (const [line, answers] of this.pending) {
      // The one that was used last stands last.
      this.lines.delete(line)
      this.lines.set(line, answers)
    }
    this.pending = []
    for (const line of this.lines.keys()) {
      if (this.lines.size <= maxLines) break
      this.lines.delete(line)
    }
  }
}

function answersIn(record: string | undefined): ReadonlyMap<number, Outcome> {
  if (record === undefined) return new Map()
  return new Map((JSON.parse(record) as { readonly calls: readonly (readonly [number, Outcome])[] }).calls)
}

const nothing: Recalled = { known: new Map(), same: new Map() }
/** Lines whose answers are remembered between flushes; those of others are read where they are asked for. */
const maxLines = 2_000
/** A line that nobody has used for so long does not come back. */
const keptMs = 86_400_000
const sweepEveryMs = 600_000
