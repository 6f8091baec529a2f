import type { ExecutionConfig } from '@ku0/agent-runtime-core'
import type { Instant } from '@ku0/agent-runtime-core/transition'
import type { StoredTables } from '../sqlite/stored-tables.ts'
import type { Queries } from './queries.ts'

export interface ReadContext {
  readonly db: Queries
  readonly tables: StoredTables
  readonly config: ExecutionConfig
  readonly now: () => Instant
  readonly processId: (process: number) => string | undefined
  /** What only this process's store knows. */
  readonly local: () => {
    readonly staleWrites: number
    readonly commits: number
    readonly repeatedFlushes: number
  }
}

/** A page of steps or of tasks ends once the values in it have more characters: nothing else happens in the thread meanwhile. */
export const MAX_PAGE_CHARS = 4_194_304
