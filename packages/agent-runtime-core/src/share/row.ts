import type { ClientTier } from './client.ts'

/** A client, by name. Credits, times and costs in millionths. Source: `docs/semantics.md 11`. */
export interface ClientRow {
  readonly id: number
  readonly name: string
  readonly credits: number
  readonly tier: ClientTier
  readonly time: number
  /** Where it began when it last became active. */
  readonly floor: number
  readonly spent: number
  /** Promoted queued tasks, and tasks that run: told from the other rows, not kept; nor is what follows. */
  readonly queued: number
  readonly running: number
  /** What could hold back all that it has queued; the clock of this pool that its time was last written by. */
  readonly pool: string
  readonly seen: number
  /** A quota of its own lets none of its tasks start, as far as the last round knows. */
  readonly stalled: boolean
}
