import type { Timers } from '@ku0/agent-runtime-core'
import type { ClientConfig } from 'pg'
import type { Statement } from './batch.ts'
import { Session, type Driver } from './session.ts'
import type { PostgresPlace } from './url.ts'
import { statement } from './write.ts'

/** What a transaction waits for a lock at the most, and what the server lets one rest that its process has forgotten. */
const lockMs = 5_000
const idleMs = 30_000

/** Makes the connections of a store, each with its purpose in its name. */
export class Connections {
  /** What each transaction begins with, besides. */
  readonly prelude: string
  /** The same with the beginning, for a batch. */
  readonly beginning: readonly Statement[]
  readonly place: PostgresPlace
  private readonly driver: Driver
  private readonly timers: Timers

  constructor(driver: Driver, place: PostgresPlace, timers: Timers) {
    this.driver = driver
    this.place = place
    this.timers = timers
    const settings = place.hasSessions ? [] : settingsOf('SET LOCAL', place.schema)
    this.prelude = settings.join('; ')
    this.beginning = ['BEGIN', ...settings].map((text) => statement(text))
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
      if (hasSessions) await session.run(settingsOf('SET', schema).join('; '))
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

function settingsOf(set: string, schema: string): readonly string[] {
  return [
    `${set} search_path TO ${schema}`,
    `${set} lock_timeout TO ${lockMs}`,
    `${set} idle_in_transaction_session_timeout TO ${idleMs}`,
    `${set} synchronous_commit TO on`,
  ]
}
