import type { Connections } from '../connection/connections.ts'
import { oftenChanged } from '../tables/schema.ts'
import type { Session } from '../connection/session.ts'

/** After so many deleted tasks the server is asked which tables are due: a twentieth of the 100 000 that a store may keep. */
const TASKS_TO_VACUUM = 5_000

/**
 * Vacuums the tables after retention has deleted many tasks, where this process owns them. The server's autovacuum does the same for the same
 * tables, but it looks only once a minute, and in a minute a busy store leaves several times its size in dead rows. What fails here is left to it.
 * Source: `docs/decisions/0090-vacuum-after-retention.md`.
 */
export class Vacuum {
  private readonly connections: Connections
  private deleted = 0
  private session: Session | undefined
  private running: Promise<void> | undefined
  private isClosed = false

  constructor(connections: Connections) {
    this.connections = connections
  }

  /** A commit deletes so many tasks. */
  deletes(tasks: number): void {
    this.deleted += tasks
  }

  /** No transaction waits for it. A pooler has few connections to the server, which commits need. */
  afterCommit(): void {
    if (this.deleted < TASKS_TO_VACUUM || this.running !== undefined || this.isClosed) return
    this.deleted = 0
    if (!this.connections.place.hasSessions) return
    this.running = this.run()
      .catch(() => undefined)
      .finally(() => (this.running = undefined))
  }

  /** Whatever is being vacuumed, the server finishes or gives up by itself. */
  close(): void {
    this.isClosed = true
    this.session?.drop()
  }

  private async run(): Promise<void> {
    const { connections } = this
    const { schema } = connections.place
    const session = await connections.open('vacuum')
    if (this.isClosed) return session.drop()
    this.session = session
    try {
      const { rows } = await session.query(dueText, [schema])
      const tables = rows.map(([name]) => `${schema}.${name as string}`)
      // A table that another process is at is left to that one. Free pages at the end of a table are kept: to cut them, readers would have to wait.
      if (tables.length > 0) await session.run(`VACUUM (SKIP_LOCKED, TRUNCATE false) ${tables.join(', ')}`)
    } finally {
      this.session = undefined
      await session.end()
    }
  }
}

/** The tables that autovacuum would take as well, if it looked now, and that this role may vacuum. */
const dueText = `SELECT stats.relname FROM pg_stat_user_tables AS stats JOIN pg_class AS class ON class.oid = stats.relid
  WHERE stats.schemaname = $1::text AND stats.relname IN (${oftenChanged.map((table) => `'${table}'`).join(', ')})
    AND stats.n_dead_tup > 1000 + 0.05 * stats.n_live_tup AND pg_has_role(class.relowner, 'USAGE')`
