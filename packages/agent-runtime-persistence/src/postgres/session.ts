import { createHash } from 'node:crypto'
import type { Client, ClientConfig, CustomTypesConfig } from 'pg'
import { restored, storable } from './values.ts'

/** What a statement gave. */
export interface Found {
  readonly fields: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
}

export type Driver = { readonly Client: new (config: ClientConfig) => Client }

/** One connection. Statements are sent as they come, without waiting for the answers to those before. */
export class Session {
  readonly client: Client
  /** Why it can be used no more. */
  lost: Error | undefined
  private readonly keepsStatements: boolean
  private readonly names = new Map<string, string>()

  private constructor(client: Client, keepsStatements: boolean) {
    this.client = client
    this.keepsStatements = keepsStatements
    client.on('error', (error) => (this.lost ??= error))
    client.on('end', () => (this.lost ??= new Error('the connection was closed')))
  }

  /** `keepsStatements`: whether the server is the same from one transaction to the next, so that it may keep what was prepared. */
  static async open(driver: Driver, config: ClientConfig, keepsStatements: boolean): Promise<Session> {
    const client = new driver.Client({ ...config, types, pipeline: true })
    const session = new Session(client, keepsStatements)
    await client.connect()
    return session
  }

  async query(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Found & { readonly count: number; readonly command: string }> {
    const { fields, rows, rowCount, command } = await this.client.query({
      text,
      values: values.map(storable),
      rowMode: 'array',
      ...(this.keepsStatements && values.length > 0 ? { name: this.nameOf(text) } : {}),
    })
    return { fields: fields.map(({ name }) => name), rows, count: rowCount ?? 0, command }
  }

  /** Several statements without values, in one message. */
  async run(text: string): Promise<void> {
    await this.client.query(text)
  }

  async end(): Promise<void> {
    if (this.lost === undefined) await this.client.end().catch(() => undefined)
    else this.drop()
  }

  /** Closes it without a word. */
  drop(): void {
    this.lost ??= new Error('the connection was dropped')
    ;(this.client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
  }

  private nameOf(text: string): string {
    const known = this.names.get(text)
    if (known !== undefined) return known
    const name = createHash('sha256').update(text).digest('base64url').slice(0, 22)
    this.names.set(text, name)
    return name
  }
}

/** Values come as SQLite hands them over: numbers, texts and buffers. */
const types = {
  getTypeParser(oid: number) {
    switch (oid) {
      case 16:
        return (text: string) => Number(text === 't')
      case 17:
        return (text: string) => Buffer.from(text.slice(2), 'hex')
      case 20:
      case 21:
      case 23:
      case 700:
      case 701:
      case 1700:
        return Number
      default:
        return restored
    }
  },
} satisfies CustomTypesConfig
