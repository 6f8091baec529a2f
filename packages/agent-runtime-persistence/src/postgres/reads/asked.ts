import type { Queries, Query } from '../../views/queries.ts'
import { type Found, question, type Statement } from '../connection/statement.ts'
import { arrayParameter } from '../connection/parameters.ts'
import type { Session } from '../connection/session.ts'
import { single, together, translated } from './translate.ts'
import { type ParameterType, schemaTypeOf } from '../connection/values.ts'

/** Thrown where a reading needs an answer that is not there yet; whoever runs it asks, and runs it again. */
class Missing extends Error {}

const MISSING = new Missing('an answer is not there yet')

/** Whether a reading was only interrupted, since it has to be run again. */
export function isMissing(error: unknown): boolean {
  return error === MISSING
}

interface Asked {
  readonly sql: string
  readonly given: readonly unknown[]
  readonly types: readonly ParameterType[]
  readonly into: Map<string, Found>
  readonly key: string
}

/**
 * Runs readings that are written for a database which answers at once. A row that a reading needs and does not have is asked for, all of a round together:
 * the same statement for many values is one statement, and all statements of a round cross at once. Then the reading is run again from
 * its beginning. So it takes as many round trips as its questions build on one another. A reading must change nothing.
 */
export class Asking implements Queries {
  private readonly known = new Map<string, Map<string, Found>>()
  private wanted = new Map<string, Asked>()
  /** Whether answers came ahead of the reading that needs them, in the transaction that it runs in. */
  private isAhead = false

  prepare<Given extends unknown[] = unknown[], Row = unknown>(sql: string): Query<Given, Row> {
    return new AskedQuery<Given, Row>(this, translated(sql))
  }

  atOnce<T>(read: () => T): T {
    return read()
  }

  ahead<T>(items: readonly T[], read: (item: T) => unknown): void {
    this.gather(items, (item) => {
      read(item)
      return []
    })
  }

  /** The results of several readings, put together: what they miss is asked for at once. */
  gather<N, F>(names: readonly N[], find: (name: N) => readonly F[]): readonly F[] {
    const found: F[] = []
    let isWhole = true
    for (const name of names)
      try {
        for (const it of find(name)) found.push(it)
      } catch (error) {
        if (error !== MISSING) throw error
        isWhole = false
      }
    if (!isWhole) throw MISSING
    return found
  }

  /** The first questions of a reading, as statements that cross with others; their answers are known to readings of the same transaction, until {@link forget}. */
  first(read: () => unknown): {
    readonly statements: readonly Statement[]
    take(found: readonly Found[]): void
  } {
    this.forget()
    this.wanted = new Map()
    try {
      read()
    } catch (error) {
      if (error !== MISSING) throw error
    }
    const asked = this.groups()
    return {
      statements: asked.map(statementOf),
      take: (found) => {
        this.isAhead = true
        for (const [at, group] of asked.entries()) tell(group, found[at] as Found)
      },
    }
  }

  /** Answers that came ahead hold no more. */
  forget(): void {
    this.isAhead = false
    this.known.clear()
  }

  /** Runs a reading with answers of one session, whose state must not change meanwhile. One at a time. */
  async answer<T>(session: Session, read: () => T): Promise<T> {
    if (!this.isAhead) this.known.clear()
    for (;;) {
      this.wanted = new Map()
      try {
        return read()
      } catch (error) {
        if (error !== MISSING) throw error
      }
      await this.ask(session)
    }
  }

  find(sql: string, given: readonly unknown[]): Found {
    let into = this.known.get(sql)
    if (into === undefined) this.known.set(sql, (into = new Map()))
    const key = given.length === 1 ? `${typeof given[0]} ${String(given[0])}` : JSON.stringify(given)
    const found = into.get(key)
    if (found !== undefined) return found
    const types = given.map(schemaTypeOf)
    this.wanted.set(`${sql}\n${key}`, { sql, given, types, into, key })
    throw MISSING
  }

  private async ask(session: Session): Promise<void> {
    const asked = this.groups()
    const answers = await session.batch(asked.map(statementOf))
    for (const [at, group] of asked.entries()) tell(group, answers[at] as Found)
  }

  /** All that is wanted, each statement once. */
  private groups(): readonly (readonly Asked[])[] {
    const groups = new Map<string, Asked[]>()
    for (const it of this.wanted.values()) {
      const name = `${it.types.join()} ${it.sql}`
      const group = groups.get(name)
      if (group === undefined) groups.set(name, [it])
      else group.push(it)
    }
    return [...groups.values()]
  }
}

function statementOf(group: readonly Asked[]): Statement {
  const { sql, given, types } = group[0] as Asked
  if (group.length === 1) return question(single(sql, given), given)
  const values = types.map((type, at) =>
    arrayParameter(
      type,
      group.map((it) => it.given[at]),
    ),
  )
  return { text: together(sql, types), values }
}

function tell(group: readonly Asked[], { fields, rows, command }: Found): void {
  const [first] = group
  if (group.length === 1) {
    first?.into.set(first.key, { fields, rows, command })
    return
  }
  const each = group.map((): unknown[][] => [])
  for (const [n, ...row] of rows) each[(n as number) - 1]?.push(row)
  for (const [at, it] of group.entries())
    it.into.set(it.key, { fields: fields.slice(1), rows: each[at] ?? [], command })
}

class AskedQuery<Given extends unknown[], Row> implements Query<Given, Row> {
  private readonly asking: Asking
  private readonly sql: string
  private mode: 'raw' | 'pluck' | undefined

  constructor(asking: Asking, sql: string) {
    this.asking = asking
    this.sql = sql
  }

  raw(): this {
    this.mode = 'raw'
    return this
  }

  pluck(): this {
    this.mode = 'pluck'
    return this
  }

  get(...given: Given): Row | undefined {
    const { fields, rows } = this.asking.find(this.sql, given)
    return rows[0] === undefined ? undefined : this.rowOf(fields, rows[0])
  }

  all(...given: Given): Row[] {
    const { fields, rows } = this.asking.find(this.sql, given)
    return rows.map((row) => this.rowOf(fields, row))
  }

  iterate(...given: Given): IterableIterator<Row> {
    return this.all(...given).values()
  }

  private rowOf(fields: readonly string[], row: readonly unknown[]): Row {
    if (this.mode === 'raw') return row as Row
    if (this.mode === 'pluck') return row[0] as Row
    return Object.fromEntries(fields.map((name, at) => [name, row[at]])) as Row
  }
}
