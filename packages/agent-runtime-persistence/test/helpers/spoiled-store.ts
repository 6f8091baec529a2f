import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { onTestFinished } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { verifyStore, type Seal, type Verification } from '../../src/index.ts'

export interface EventRow {
  task: number
  seq: number
  type: string
  at: number
  data: string
  blob: string | null
  hash: Buffer
}

export const good = { ok: true, faults: [], faultCount: 0 }
export const verify = (path: string, since?: Seal) =>
  verifyStore(`sqlite:${path}`, since === undefined ? {} : { since })

/** A store that is damaged, looked at, and mended, again and again. */
export class Spoiled {
  readonly path: string
  readonly db: Database.Database
  readonly events: readonly EventRow[]
  /** By `task:seq`: the commit that the event was added by. */
  readonly commits = new Map<string, number>()
  readonly lastCommit: number

  constructor(path: string) {
    this.path = path
    this.db = new Database(path)
    onTestFinished(() => void this.db.close())
    this.db.pragma('journal_mode = WAL')
    this.db.pragma('synchronous = 0')
    this.events = this.db.prepare<[], EventRow>('SELECT * FROM event ORDER BY task, seq').all()
    const journal = this.db.prepare<[], [number, string]>('SELECT number, touched FROM journal').raw().all()
    for (const [number, touched] of journal)
      for (const [task = 0, first = 0, last = 0] of JSON.parse(touched) as number[][])
        for (let seq = first; seq <= last; seq++) this.commits.set(`${task}:${seq}`, number)
    this.lastCommit = journal.length
  }

  commitOf({ task, seq }: Pick<EventRow, 'task' | 'seq'>): number {
    return this.commits.get(`${task}:${seq}`) ?? Number.NaN
  }

  /** The seal of a commit, as a verification that ended there would have returned it. */
  sealOf(commit: number): Seal {
    const storeId = this.db.prepare<[], string>("SELECT value FROM meta WHERE key = 'store_id'").pluck().get()
    const hash = this.db
      .prepare<[number], Buffer>('SELECT hash FROM journal WHERE number = ?')
      .pluck()
      .get(commit)
    return { storeId: storeId ?? '', commit, hash: (hash ?? Buffer.alloc(32)).toString('hex') }
  }

  /** What verification says of the store after this, which is undone afterwards; undefined where the database itself refuses it. */
  async after(spoil: (db: Database.Database) => void, since?: Seal): Promise<Verification | undefined> {
    const kept = this.db.serialize()
    const copy = `${this.path}.spoiled`
    writeFileSync(copy, kept)
    if (existsSync(`${this.path}-anchor`)) copyFileSync(`${this.path}-anchor`, `${copy}-anchor`)
    const db = new Database(copy)
    try {
      db.pragma('journal_mode = MEMORY')
      db.pragma('synchronous = 0')
      spoil(db)
    } catch (error) {
      if (String((error as { code?: string }).code).startsWith('SQLITE_CONSTRAINT')) return undefined
      throw error
    } finally {
      db.close()
    }
    const found = await verify(copy, since)
    for (const suffix of ['', '-wal', '-shm', '-anchor']) rmSync(copy + suffix, { force: true })
    return found
  }
}

export const places = (found: Verification | undefined) => found?.faults.map(({ where }) => where)

/** One letter of a JSON text, in a place that leaves it JSON, or a number in it. */
export function changed(data: string): string {
  return data.replace(/(\d)(?=\D*$)|"(?=[a-z])/, (it) => (it === '"' ? '"x' : String((Number(it) + 1) % 10)))
}

/**
 * The columns that may be edited without being found, where each row of `meta` is one, and all that constraints let anybody edit.
 * Among the quick tests it edits a column of one row of each table, in a landing all columns of every eighth row.
 */
export async function editEach(it: Spoiled, tables: readonly string[]) {
  const silent = new Set<string>()
  const edited = new Set<string>()
  for (const table of tables) {
    const columns = it.db
      .prepare<[], { name: string; type: string; pk: number }>(
        `SELECT name, type, pk FROM pragma_table_info('${table}')`,
      )
      .all()
    const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => name)
    const where = keys.map((key) => `${key} = ?`).join(' AND ')
    const rows = it.db.prepare<[], Record<string, unknown>>(`SELECT * FROM ${table}`).all()
    let isEdited = false
    for (const row of draws(rows.slice(0, 1), everyNth(rows, 16), rows))
      for (const { name, type } of everyNth(columns.toReversed(), draws(5, 1))) {
        if (draws(isEdited, false)) break
        const write = (value: unknown) => (db: Database.Database) =>
          db
            .prepare(`UPDATE ${table} SET ${name} = ? WHERE ${where}`)
            .run(value, ...keys.map((key) => row[key]))
        let seen: Verification | undefined
        for (const value of spoiledValues(type, row[name]))
          if (value !== row[name]) seen ??= await it.after(write(value))
        if (seen === undefined) continue
        edited.add(`${table}.${name}`)
        isEdited = true
        const place = table === 'meta' && name === 'value' ? String(row['key']) : name
        if (seen.ok) silent.add(`${table}.${place}`)
      }
  }
  return { silent, edited }
}

/** The first number in it is another; where there is none, a text or a key. */
function otherJson(text: string): string {
  return /\d/.test(text) ? text.replace(/\d/, (digit) => String((Number(digit) % 9) + 1)) : changed(text)
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

/** Other values: the first that the constraints let in is taken. */
function spoiledValues(type: string, value: unknown): readonly unknown[] {
  switch (type) {
    case 'INTEGER':
      return value === null ? [1] : [Number(value) + 1, Number(value) - 1]
    case 'REAL':
      return [Number(value) === 0 ? 0.25 : Number(value) / 2]
    case 'BLOB':
      return [Buffer.alloc(32, 7)]
    default:
      return [value === null ? 'x' : otherText(value as string)]
  }
}

function otherText(text: string): string {
  if (/^\d+$/.test(text)) return String(Number(text) + 1)
  if (text === '[]') return '["x"]'
  return isJson(text) ? otherJson(text) : `${text}x`
}
