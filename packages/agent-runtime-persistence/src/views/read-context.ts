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
