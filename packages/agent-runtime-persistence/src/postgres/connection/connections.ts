import type { Timers } from '@ku0/agent-runtime-core'
import type { ClientConfig } from 'pg'
import { type Statement, statement } from './statement.ts'
import { Session, type Driver } from './session.ts'
import type { PostgresPlace } from './url.ts'

/** The oldest PostgreSQL that the statements are tested with. */
export const oldestServer = 15
/** What a transaction waits for a lock at the most. */
export const lockMs = 5_000
/** So long the server lets a transaction rest whose process is not heard of. Calls of the others, which it may hold up, are refused after 10 s. */
const idleMs = 8_000
/** How long the server may take for what crosses at once, the wait for a lock included. Whoever copies a store asks for much more. */
const answerMs = { commit: 15_000, read: 60_000, listen: 15_000, vacuum: 3_600_000, copy: 3_600_000 } as const
type Purpose = keyof typeof answerMs

/** Makes the connections of a store, each with its purpose in its name. */
export class Connections {
  /** What each transaction begins with, besides. */
  readonly prelude: string
  /** The same with the beginning, for a batch. */
  readonly beginning: readonly Statement[]
  /** Ends a transaction that failed, and gives back what the connection holds. */
  readonly rollback: string
  readonly place: PostgresPlace
  private readonly driver: Driver
  private readonly timers: Timers

  constructor(driver: Driver, place: PostgresPlace, timers: Timers) {
    this.driver = driver
    this.place = place
    this.timers = timers
    const settings = place.hasSessions ? [] : settingsOf('SET LOCAL', place.schema)
    this.rollback = place.hasSessions
      ? `ROLLBACK; SELECT pg_advisory_unlock_all(); ${unlimitedRest}`
      : 'ROLLBACK'
    this.prelude = settings.join('; ')
    this.beginning = ['BEGIN', ...settings].map((text) => statement(text))
  }

  /** `purpose`: as `pg_stat_activity` shows it. */
  async open(purpose: Purpose): Promise<Session> {
    const { connectionString, applicationName, hasSessions, schema } = this.place
    const config: ClientConfig = {
      connectionString,
      application_name: `${applicationName} ${purpose}`,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      connectionTimeoutMillis: 10_000,
    }
    const session = await Session.open(this.driver, config, {
      keepsStatements: hasSessions,
      timers: this.timers,
      answerMs: answerMs[purpose],
    })
    try {
      if (hasSessions) {
        for (const text of perhapsThere) session.run(text).catch(() => undefined)
        await session.run([...settingsOf('SET', schema), unlimitedRest].join('; '))
      }
      return session
    } catch (error) {
      session.drop()
      throw error
    }
  }

  /** A statement outside a transaction, where no search path may be set: the tables with their schema. */
  qualified(text: string): string {
    const { hasSessions, schema } = this.place
    return hasSessions
      ? text
      : text.replaceAll(
          /\b(FROM|JOIN) (head|task|lease|schedule|budget|process|journal|event|blob)\b/g,
          `$1 ${schema}.$2`,
        )
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.timers.after(ms, resolve))
  }
}

/** A connection that waits for work is not idle: by one of them others see that the process lives. */
const unlimitedRest = 'SET idle_session_timeout TO 0'
/** The server looks so often whether the client is there while it waits for a lock, so that nobody waits behind one who is gone. Some systems cannot. */
const looksForClient = 'SET client_connection_check_interval TO 1000'
/** What some servers refuse. PostgreSQL 17 and later can limit transactions: one that waits for the turn may be longer than others. */
const perhapsThere: readonly string[] = [looksForClient, 'SET transaction_timeout TO 0']

function settingsOf(set: string, schema: string): readonly string[] {
  return [
    `${set} search_path TO ${schema}`,
    `${set} lock_timeout TO ${lockMs}`,
    `${set} idle_in_transaction_session_timeout TO ${idleMs}`,
    `${set} synchronous_commit TO on`,
  ]
}
