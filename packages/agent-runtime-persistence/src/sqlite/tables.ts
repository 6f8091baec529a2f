import type { IdCodec } from '@ku0/agent-runtime-core'
import type { WorkingSet } from '@ku0/agent-runtime-core/transition'
import { prepareApply } from './apply.ts'
import type { Hashes } from './integrity.ts'
import { prepareJournal } from './journal.ts'
import type { Statements } from './statements.ts'
import { lineKey } from './line-key.ts'
import { StoredTables } from './stored-tables.ts'

/** One database's tables as a flush uses them. */
export class SqliteTables extends StoredTables {
  readonly journal
  private readonly putLine
  private readonly dropOldLines
  /** The journal's last number and hash, as of the last commit this connection has seen. */
  last: { number: number; hash: Uint8Array } = { number: 0, hash: new Uint8Array(32) }
  private readonly apply

  constructor(db: Statements, ids: IdCodec, hashes: Hashes) {
    super(db, ids, hashes)
    this.apply = prepareApply(db)
    this.journal = prepareJournal(db)
    this.putLine = db.prepare<[string, string]>('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)')
    this.dropOldLines = db.prepare<[number]>(
      "DELETE FROM meta WHERE key GLOB 'line:*' AND CAST(value ->> '$.at' AS INTEGER) < ?",
    )
    this.reload()
  }

  /** Another process wrote: the journal has moved on. */
  reload(): void {
    const row = this.load.journal()
    if (row !== undefined) this.last = { number: row[0], hash: row[1] }
  }

  /**
   * Writes a flush's changes and its journal row, which holds once the transaction is committed. `isTold`: somebody will be told that it
   * is, so that it has a row even without events; what nobody is told of, such as a renewal, has none.
   */
  write(ws: WorkingSet, isTold: boolean): void {
    this.apply(ws, this.last.number + 1)
    if (ws.events.length === 0 && !isTold) return
    const number = this.last.number + 1
    this.pending = { number, hash: this.journal.append(number, this.last.hash, ws.now.at, ws.events) }
  }

  /** What is kept of a line. */
  keepLine(line: string, record: string): void {
    this.putLine.run(lineKey(line), record)
  }

  /** Forgets what is kept of lines that were last used before a moment. */
  dropLines(before: number): void {
    this.dropOldLines.run(before)
  }

  /** True when the journal has a new last row. */
  committed(): boolean {
    const { pending } = this
    if (pending === undefined) return false
    this.last = pending
    this.pending = undefined
    return true
  }

  rolledBack(): void {
    this.pending = undefined
  }

  private pending: { number: number; hash: Uint8Array } | undefined
}
