import type { Client, ClientConfig, Query } from 'pg'
import type { Timers } from '@ku0/agent-runtime-core'
import { Batch, Prepared } from './batch.ts'
import { type Found, question, type Statement } from './statement.ts'
import { Patience } from './patience.ts'

export interface Driver {
  readonly Client: new (config: ClientConfig) => Client
  readonly Query: new (text: string) => Query
}

interface SessionOptions {
  /** Whether the server is the same from one transaction to the next, so that it may keep what was prepared. */
  readonly keepsStatements: boolean
  readonly timers: Timers
  /** A connection on which the server says nothing for so long while it is asked something is given up. */
  readonly answerMs: number
}

/** One connection. What is sent goes out as it comes, without waiting for the answers to what went before. */
export class Session {
  readonly client: Client
  /** Why it can be used no more. */
  lost: Error | undefined
  private readonly driver: Driver
  private readonly prepared: Prepared
  private readonly patience: Patience

  private constructor(driver: Driver, client: Client, { keepsStatements, timers, answerMs }: SessionOptions) {
    this.driver = driver
    this.patience = new Patience(timers, answerMs, (error) => {
      this.lost ??= error
      this.drop()
    })
    this.client = client
    this.prepared = new Prepared(keepsStatements)
    client.on('error', (error) => (this.lost ??= error))
    client.on('end', () => (this.lost ??= new Error('the connection was closed')))
  }

  static async open(driver: Driver, config: ClientConfig, options: SessionOptions): Promise<Session> {
    const client = new driver.Client({ ...config, pipeline: true })
    const session = new Session(driver, client, options)
    await client.connect()
    return session
  }

  /**
   * Statements in one round trip. Where one fails, those after it are not run, and its error is thrown. `waitMs`: they may wait so long for others besides.
   */
  batch(statements: readonly Statement[], waitMs = 0): Promise<readonly Found[]> {
    const batch = new Batch(statements, this.prepared)
    this.client.query(batch.into(new this.driver.Query('')))
    return this.patience.until(batch.answer.promise, waitMs)
  }

  async query(text: string, values: readonly unknown[] = []): Promise<Found> {
    const [found] = await this.batch([question(text, values)])
    return found as Found
  }

  /** Several statements without values, in one message. */
  async run(text: string): Promise<void> {
    await this.patience.until(this.client.query(text))
  }

  /** The same, however long the server takes: a step of a migration may build an index. */
  async runLong(text: string): Promise<void> {
    await this.client.query(text)
  }

  async end(): Promise<void> {
    if (this.lost === undefined) await this.patience.until(this.client.end()).catch(() => undefined)
    else this.drop()
  }

  /** Closes it without a word. */
  drop(): void {
    this.lost ??= new Error('the connection was dropped')
    ;(this.client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
  }
}
