import type { Timers } from '@ku0/agent-runtime-core'
import type { ClientConfig } from 'pg'
import { Session, type Driver } from './session.ts'
import type { PostgresPlace } from './url.ts'

/** What a transaction waits for a lock at the most, and what the server lets one rest that its process has forgotten. */
const lockMs = 5_000
const idleMs = 30_000

/** Makes the connections of a store, each with its purpose in its name. */
export class Connections {
  /** What each transaction begins with, besides. */
  readonly prelude: string
  readonly place: PostgresPlace
  private readonly driver: Driver
  private readonly timers: Timers

  constructor(driver: Driver, place: PostgresPlace, timers: Timers) {
    this.driver = driver
    this.place = place
    this.timers = timers
    this.prelude = place.hasSessions ? '' : setting('SET LOCAL', place.schema)
  }

  /** `purpose`: as `pg_stat_activity` shows it. */
  async open(purpose: 'commit' | 'read' | 'listen'): Promise<Session> {
    const { connectionString, applicationName, hasSessions, schema } = this.place
    const config: ClientConfig = {
      connectionString,
      application_name: `${applicationName} ${purpose}`,
      keepAlive: true,
      connectionTimeoutMillis: 10_000,
    }
    const session = await Session.open(this.driver, config, hasSessions)
    try {
      if (hasSessions) await session.run(setting('SET', schema))
      return session
    } catch (error) {
      session.drop()
      throw error
    }
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.timers.after(ms, resolve))
  }
}

function setting(set: string, schema: string): string {
  return `${set} search_path TO ${schema}; ${set} lock_timeout TO ${lockMs}; ${set} idle_in_transaction_session_timeout TO ${idleMs}; ${set} synchronous_commit TO on;`
}
