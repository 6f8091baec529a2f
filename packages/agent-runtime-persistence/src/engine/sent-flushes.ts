import type { LeaseRow } from '@ku0/agent-runtime-core/transition'
import type { Call } from './call.ts'
import type { Sent } from './database.ts'
import type { Flushed } from './flush.ts'

/** A flush whose commit was sent. */
export interface SentFlush {
  readonly flushed: Flushed
  readonly foreign: boolean
  readonly batch: readonly Call[]
  readonly mono: number
  /** The leases held before it. */
  readonly held: ReadonlyMap<number, LeaseRow>
}

interface Entry {
  readonly it: SentFlush
  /** Resolves when it is answered, in whatever way. */
  answered: Promise<void>
  /** Resolves when the answer is lost, too; undefined once it has. */
  heard: Promise<void> | undefined
  outcome: 'none' | 'stands' | 'fell'
  error: unknown
}

/**
 * Flushes whose commits are under way, in their order. While the server works on one, the next is decided as if it stood. Nobody is told
 * of a flush before its commit is answered; where one did not come about, it and all that were decided after it are done again.
 */
export class SentFlushes {
  private entries: Entry[] = []

  get count(): number {
    return this.entries.length
  }

  /** The last one: what is decided next builds on it. */
  get last(): SentFlush | undefined {
    return this.entries.at(-1)?.it
  }

  /** Resolves when there is something to be done about the first of them: it is answered, or its answer is lost. */
  get answered(): Promise<void> | undefined {
    return this.entries[0]?.heard ?? this.entries[0]?.answered
  }

  add(it: SentFlush, { answered, heard }: Sent): void {
    const hear = async () => {
      try {
        await answered
        entry.outcome = 'stands'
      } catch (error) {
        entry.outcome = 'fell'
        entry.error = error
      }
    }
    const entry: Entry = { it, answered: Promise.resolve(), heard, outcome: 'none', error: undefined }
    entry.answered = hear()
    void heard.then(() => (entry.heard = undefined))
    this.entries.push(entry)
  }

  /** The first one, once it stands. */
  takeStanding(): SentFlush | undefined {
    return this.entries[0]?.outcome === 'stands' ? this.entries.shift()?.it : undefined
  }

  /** Whether the first one fell. */
  get hasFallen(): boolean {
    return this.entries[0]?.outcome === 'fell'
  }

  /** All of them, after the first fell and all are answered; with the error of the first. */
  takeFallen(): { readonly fallen: readonly SentFlush[]; readonly error: unknown } {
    const { entries } = this
    this.entries = []
    if (entries.some(({ outcome }) => outcome !== 'fell'))
      throw new Error('a commit stands that was decided on one which did not come about')
    return { fallen: entries.map(({ it }) => it), error: entries[0]?.error }
  }

  /** The calls of all of them. */
  get calls(): readonly Call[] {
    return this.entries.flatMap(({ it }) => it.batch)
  }

  /** All of them: nobody hears any more what came of them. */
  takeAll(): readonly SentFlush[] {
    const { entries } = this
    this.entries = []
    return entries.map(({ it }) => it)
  }

  /** Resolves when all of them are answered. */
  async allAnswered(): Promise<void> {
    await Promise.all(this.entries.map(({ answered }) => answered))
  }
}
