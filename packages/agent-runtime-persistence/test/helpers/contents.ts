import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'vitest'

/** Everything that stands in a database, as whoever opens it next finds it. */
export function contents(path: string): string {
  const db = new Database(path)
  try {
    db.pragma('synchronous = 0')
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    return contentsOf(db)
  } finally {
    db.close()
  }
}

/** Everything that a connection sees: one of a store that is open, which no second one may be closed beside. */
export function contentsOf(db: Database.Database): string {
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all()
  return JSON.stringify(
    tables.map((name) => [name, db.prepare(`SELECT * FROM "${name}" ORDER BY 1, 2`).raw().all()]),
  )
}

/** The files as a process leaves them that is killed now; what SQLite keeps in memory is gone. */
export function leave(path: string, folder: string): string {
  mkdirSync(folder)
  const copy = join(folder, 'store.db')
  for (const suffix of ['', '-wal', '-anchor'])
    if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix)
  return copy
}
