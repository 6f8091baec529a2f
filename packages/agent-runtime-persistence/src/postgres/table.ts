/** One connection to PostgreSQL as the store needs it, of whatever driver: rows come as their first column, a JSON value or a number. */
export interface Connection {
  query(text: string, values?: readonly unknown[]): Promise<readonly unknown[]>
  end(): Promise<void>
}

/**
 * A table that keeps rows of core's as they are, each field in a column of its name. Rows cross as JSON, all of a statement in one
 * parameter, so that a statement is one round trip however many rows it writes or reads.
 */
export class Table<Row extends object> {
  readonly ddl: string
  private readonly name: string
  private readonly keys: readonly (keyof Row & string)[]
  private readonly fields: readonly (keyof Row & string)[]
  private readonly bytes: readonly (keyof Row & string)[]

  /** The type of each column; a field that is not kept has none. */
  constructor(
    name: string,
    keys: readonly (keyof Row & string)[],
    columns: { readonly [F in keyof Row & string]?: string },
  ) {
    this.name = name
    this.keys = keys
    this.fields = Object.keys(columns) as (keyof Row & string)[]
    this.bytes = this.fields.filter((field) => columns[field]?.startsWith('bytea') === true)
    const list = this.fields.map((field) => `${columnOf(field)} ${columns[field]}`)
    this.ddl = `CREATE TABLE ${name} (${list.join(', ')}, PRIMARY KEY (${keys.map(columnOf).join(', ')}))`
  }

  /** Rows that are new. */
  async insert(on: Connection, rows: readonly Row[], orElse = ''): Promise<void> {
    if (rows.length === 0) return
    await on.query(`INSERT INTO ${this.name} SELECT * FROM ${this.given} ${orElse}`, [this.jsonOf(rows)])
  }

  /** Rows that are new or changed. */
  async put(on: Connection, rows: readonly Row[]): Promise<void> {
    const set = this.fields.map((field) => `${columnOf(field)} = EXCLUDED.${columnOf(field)}`)
    const keys = this.keys.map(columnOf).join(', ')
    await this.insert(on, rows, `ON CONFLICT (${keys}) DO UPDATE SET ${set.join(', ')}`)
  }

  /** Rows that changed, each where `guard` still holds (`old` is the row as it stands, `new` the one to be). How many were. */
  async update(
    on: Connection,
    rows: readonly Row[],
    guard: string,
    values: readonly unknown[],
  ): Promise<number> {
    if (rows.length === 0) return 0
    const set = this.fields.map((field) => `${columnOf(field)} = new.${columnOf(field)}`)
    const same = this.keys.map((key) => `old.${columnOf(key)} = new.${columnOf(key)}`)
    const done = await on.query(
      `UPDATE ${this.name} AS old SET ${set.join(', ')} FROM ${this.given} AS new WHERE ${same.join(' AND ')} AND ${guard} RETURNING 1`,
      [this.jsonOf(rows), ...values],
    )
    return done.length
  }

  /** The rows of a condition, in which the table goes by its own name. */
  async select(on: Connection, where: string, values: readonly unknown[] = []): Promise<Row[]> {
    const found = await on.query(`SELECT to_json(${this.name}) FROM ${this.name} ${where}`, values)
    return found.map((it) => this.rowOf(it as Record<string, unknown>))
  }

  private get given(): string {
    return `json_populate_recordset(NULL::${this.name}, $1::json)`
  }

  private jsonOf(rows: readonly Row[]): string {
    return JSON.stringify(
      rows.map((row) => {
        const kept: Record<string, unknown> = {}
        for (const field of this.fields) {
          const value: unknown = row[field]
          kept[columnOf(field)] =
            value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value
        }
        return kept
      }),
    )
  }

  private rowOf(json: Record<string, unknown>): Row {
    const row: Record<string, unknown> = {}
    for (const field of this.fields) row[field] = json[columnOf(field)]
    for (const field of this.bytes) row[field] = Buffer.from((row[field] as string).slice(2), 'hex')
    return row as Row
  }
}

function columnOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
