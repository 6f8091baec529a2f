import type { ExecutionConfig } from '@ku0/agent-runtime-core'
import type { Instant } from '@ku0/agent-runtime-core/transition'
import type { Statements } from '../sqlite/statements.ts'
import type { SqliteTables } from '../sqlite/tables.ts'

export interface ReadContext {
  readonly db: Statements
  readonly tables: SqliteTables
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
