import type { Query } from 'pg'
import type { Found, Statement } from './statement.ts'
import { restored } from './values.ts'

/** What is used of the driver's connection: messages that go out one after the other. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void }
  parse(it: { readonly text: string; readonly name: string }): void
  bind(it: { readonly statement: string; readonly values: readonly unknown[] }): void
  describe(it: { readonly type: 'P' }): void
  execute(it: object): void
  sync(): void
}

type Parse = (text: string) => unknown

interface Columns {
  readonly names: readonly string[]
  readonly parsers: readonly Parse[]
}

/** Statements that a connection's server keeps, by their names. */
export class Prepared {
  private readonly names = new Map<string, string>()
  /** What their rows look like: the server refuses one that would give others by now. */
  private readonly columns = new Map<string, Columns>()
  private count = 0
  private readonly isKept: boolean

  /** `isKept`: whether the server is the same from one transaction to the next. */
  constructor(isKept: boolean) {
    this.isKept = isKept
  }

  /** The name of a statement, and whether it has to be told to the server first. */
  nameOf(text: string): { readonly name: string; readonly isNew: boolean } {
    const known = this.names.get(text)
    if (known !== undefined) return { name: known, isNew: false }
    if (!this.isKept || this.names.size >= mostPrepared) return { name: '', isNew: true }
    const name = `ku0_${(this.count += 1)}`
    this.names.set(text, name)
    return { name, isNew: true }
  }

  /** What the rows of a statement look like that the server keeps, once it has said so. */
  columnsOf(text: string): Columns | undefined {
    return this.columns.get(text)
  }

  /** Only of a query: what `FETCH` gives is told by its cursor. */
  describes(text: string, columns: Columns): void {
    if (this.names.has(text) && /^\s*(?:SELECT|WITH)\b/.test(text)) this.columns.set(text, columns)
  }

  /** Perhaps the server has never seen it: it gets another name. */
  forget(text: string): void {
    this.names.delete(text)
    this.columns.delete(text)
  }
}

/** Each takes some 20 KB of the server's memory. */
const mostPrepared = 400

/**
 * Statements that cross together, with one wait for all: where one fails, the server leaves out those after it. Put into a query of the driver,
 * which otherwise sends and syncs each of them for itself.
 */
export class Batch {
  readonly answer = Promise.withResolvers<readonly Found[]>()
  private readonly statements: readonly Statement[]
  private readonly prepared: Prepared
  private readonly fresh = new Set<number>()
  /** By place: what rows look like of which no description was asked. A batch before this one may fail meanwhile, and its statements are forgotten. */
  private readonly known = new Map<number, Columns>()
  private readonly found: Found[] = []
  /** Of the rows that come now, once they are described. */
  private columns: Columns | undefined
  private rows: (readonly unknown[])[] = []
  private error: unknown

  constructor(statements: readonly Statement[], prepared: Prepared) {
    this.statements = statements
    this.prepared = prepared
  }

  /** Takes the place of what the driver's query does. */
  into(query: Query): Query {
    return Object.assign(query, {
      submit: (wire: unknown) => this.submit(wire as Wire),
      handleRowDescription: ({ fields }: Description) => this.take(fields),
      handleDataRow: ({ fields }: { readonly fields: readonly (string | null)[] }) => this.takeRow(fields),
      handleCommandComplete: ({ text }: { readonly text: string }) => this.complete(text),
      handleEmptyQuery: () => this.complete(''),
      handlePortalSuspended: () => undefined,
      handleError: (error: unknown) => this.fail(error),
      handleReadyForQuery: () => this.end(),
    })
  }

  private submit(wire: Wire): null {
    wire.stream.cork()
    try {
      for (const [place, { text, values, isSilent }] of this.statements.entries()) {
        const { name, isNew } = this.prepared.nameOf(text)
        if (isNew) {
          this.fresh.add(place)
          wire.parse({ text, name })
        }
        wire.bind({ statement: name, values })
        if (isSilent !== true) {
          const columns = this.prepared.columnsOf(text)
          if (columns === undefined) wire.describe({ type: 'P' })
          else this.known.set(place, columns)
        }
        wire.execute({})
      }
      wire.sync()
    } finally {
      wire.stream.uncork()
    }
    return null
  }

  private take(fields: Description['fields']): void {
    this.columns = {
      names: fields.map(({ name }) => name),
      parsers: fields.map(({ dataTypeID }) => parserOf(dataTypeID)),
    }
    const at = this.statements[this.found.length]
    if (at !== undefined) this.prepared.describes(at.text, this.columns)
  }

  private get now(): Columns | undefined {
    return this.columns ?? this.known.get(this.found.length)
  }

  private takeRow(fields: readonly (string | null)[]): void {
    const { parsers = [] } = this.now ?? {}
    if (parsers.length < fields.length) {
      // Whoever reads nothing of it has asked for no description.
      if (this.statements[this.found.length]?.isSilent !== true) this.fail(undescribed())
      return
    }
    if (parsers.length === 0) return
    this.rows.push(fields.map((text, at) => (text === null ? null : (parsers[at] as Parse)(text))))
  }

  private complete(command: string): void {
    this.found.push({ fields: this.now?.names ?? [], rows: this.rows, command })
    this.columns = undefined
    this.rows = []
  }

  private fail(error: unknown): void {
    this.error ??= error
    for (const place of this.fresh)
      if (place >= this.found.length) this.prepared.forget(this.statements[place]?.text ?? '')
    this.answer.reject(this.error)
  }

  private end(): void {
    if (this.error === undefined) this.answer.resolve(this.found)
  }
}

interface Description {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}

/** A breach of the protocol: as where the connection is lost, another one is asked what has become of a commit. */
function undescribed(): Error {
  return Object.assign(new Error('the server sent rows on the connection that it has not described'), {
    code: '08P01',
  })
}

/** Values come as SQLite hands them over: numbers, texts and buffers. */
function parserOf(type: number): Parse {
  switch (type) {
    case 16:
      return (text) => Number(text === 't')
    case 17:
      return (text) => Buffer.from(text.slice(2), 'hex')
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
}
