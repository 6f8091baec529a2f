import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'

const tasks = 10_000
const batch = 200

/**
 * What plain SQLite does on this machine right now: tasks a second that are started and finished, two row updates and two inserts
 * each, 200 tasks a commit, every commit synced to the disk. It is what a store is measured beside: other work on the machine
 * slows both.
 */
export function rawSqliteRate(): number {
  const folder = mkdtempSync(join(tmpdir(), 'gym-raw-'))
  const db = new Database(join(folder, 'raw.db'))
  try {
    db.pragma('journal_mode = WAL')
    db.exec(tables)
    db.pragma('synchronous = FULL')
    return drain(db)
  } finally {
    db.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const tables = `
  CREATE TABLE task (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, lease INTEGER, seq INTEGER NOT NULL, tail BLOB NOT NULL,
    at INTEGER NOT NULL) STRICT;
  CREATE INDEX queued ON task (id) WHERE state = 0;
  CREATE TABLE event (task INTEGER, seq INTEGER, at INTEGER NOT NULL, data TEXT NOT NULL, hash BLOB NOT NULL,
    PRIMARY KEY (task, seq)) STRICT, WITHOUT ROWID;`

function drain(db: Database.Database): number {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const add = db.prepare('INSERT INTO task VALUES (?, 0, NULL, 1, ?, 0)')
  const move = db.prepare(
    'UPDATE task SET state = ?, lease = ?, seq = ?, tail = ?, at = 1 WHERE id = ? AND seq = ?',
  )
  const note = db.prepare('INSERT INTO event VALUES (?, ?, 1, ?, ?)')
  const hash = Buffer.alloc(32, 7)
  const data = JSON.stringify({ attempt: 1, lane: 'normal', type: 'no-op', text: 'x'.repeat(100) })
  const start = (id: number) => {
    move.run(1, id, 2, hash, id, 1)
    note.run(id, 2, data, hash)
  }
  const finish = (id: number) => {
    move.run(3, null, 3, hash, id, 2)
    note.run(id, 3, data, hash)
  }

  begin.run()
  for (let id = 1; id <= tasks; id += 1) {
    add.run(id, hash)
    note.run(id, 1, data, hash)
  }
  commit.run()
  const began = performance.now()
  for (let first = 1; first <= tasks + batch; first += batch) {
    begin.run()
    for (let id = first; id < first + batch && id <= tasks; id += 1) start(id)
    for (let id = first - batch; id < first && id >= 1; id += 1) finish(id)
    commit.run()
  }
  return (tasks * 1_000) / (performance.now() - began)
}
