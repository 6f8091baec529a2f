import { type IdCodec, type StartedStep } from '@ku0/agent-runtime-core'
import {
  blobReference,
  checkpointText,
  type PlainEvent,
  startsIn,
  type WorkingSet,
} from '@ku0/agent-runtime-core/transition'
import { prepareApply } from './apply.ts'
import { type Hashes, prepareIntegrity } from './integrity.ts'
import { prepareJournal } from './journal.ts'
import { prepareLoad, type Load } from './load.ts'
import type { Statements } from './statements.ts'

/** One database's tables as a flush uses them. */
export class SqliteTables {
  readonly load: Load
  readonly ids: IdCodec
  readonly journal
  /** What is wrong with a task's events. */
  readonly faultOf
  /** The journal's last number and hash, as of the last commit this connection has seen. */
  last: { number: number; hash: Uint8Array } = { number: 0, hash: new Uint8Array(32) }
  private readonly apply
  private readonly sha256Hex: Hashes['sha256Hex']

  constructor(db: Statements, ids: IdCodec, hashes: Hashes) {
    this.ids = ids
    this.sha256Hex = hashes.sha256Hex
    this.load = prepareLoad(db)
    this.faultOf = prepareIntegrity({ db, load: this.load, hashes })
    this.apply = prepareApply(db)
    this.journal = prepareJournal(db)
    this.reload()
  }

  /** Another process wrote: the journal has moved on. */
  reload(): void {
    const row = this.load.journal()
    if (row !== undefined) this.last = { number: row[0], hash: row[1] }
  }

  /** The data of an event with its blob put back; undefined when there is no such event. */
  event(task: number, seq: number): string | undefined {
    const row = this.load.event(task, seq)
    if (row === undefined) return undefined
    if (row.blob === null) return row.data
    return this.withBlob(row.data, row.blob, this.load.blob(row.blob) ?? '')
  }

  /**
   * The newest checkpoint of a task. One that is not what its event says was changed or damaged, and counts as none: it is a cache, and
   * what is recorded says the rest.
   */
  checkpoint(task: number): string | undefined {
    const row = this.load.checkpoint(task)
    return row !== undefined && row.event === checkpointText(row.data, this.sha256Hex) ? row.data : undefined
  }

  /** The steps of a task of which nobody knows how they ended. */
  doubts(task: number): readonly StartedStep[] {
    const whole = ({ data, blob }: PlainEvent) =>
      blob === null ? data : this.withBlob(data, blob, this.load.blob(blob) ?? '')
    return [...startsIn(this.load.stepEvents(task), whole).values()].filter(({ inDoubt }) => inDoubt)
  }

  withBlob(data: string, sha256: string, text: string): string {
    return data.replace(blobReference(sha256, text.length), () => text)
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
