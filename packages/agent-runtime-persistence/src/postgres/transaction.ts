import type { WorkingSet } from '@ku0/agent-runtime-core/transition'
import { journalRow } from '../engine/journal-row.ts'
import { newsOf } from '../engine/news.ts'
import { type Statement, statement } from './connection/statement.ts'
import { type Head, movedHead, standingHead } from './processes/head.ts'
import { newsText } from './processes/news-text.ts'
import { changesUntold } from './processes/touched.ts'
import { statementsOf } from './tables/apply.ts'

/** The transaction that is being put together: what it was begun on, and what it writes, which is sent with the commit. */
export class Transaction {
  /**
   * `assumed`: nothing was sent yet, and the store is taken to be as the last commit left it. `reading`: all is read as of one moment, without a lock,
   * and nothing can be written.
   */
  open: 'no' | 'assumed' | 'locked' | 'reading' = 'no'
  /** What it was begun on. */
  head: Head
  /** The tasks that others have changed since the last commit that this process has seen; undefined where that is not known. */
  touched: ReadonlySet<number> | undefined
  private readonly process: number
  private writes: Statement[] = []
  /** Where it moves the head; undefined where it does not. */
  private next: Head | undefined
  /** What tells others of it once it stands. */
  private notice: Statement | undefined

  /** `process`: the row of the one whose transaction it is. */
  constructor(head: Head, process: number) {
    this.head = head
    this.process = process
  }

  /** Nothing is left of it. */
  forget(): void {
    this.open = 'no'
    this.touched = undefined
    this.writes = []
    this.next = undefined
    this.notice = undefined
  }

  add(...statements: readonly Statement[]): void {
    this.writes.push(...statements)
  }

  /** What others have on their way to the server finds another version, and comes to nothing. */
  raise(): void {
    this.next = { ...this.head, version: this.head.version + 1 }
  }

  /** What a flush decided. `notifyText`: tells others of it, where there are any that hear. */
  apply(changes: WorkingSet, isTold: boolean, notifyText: string | undefined): void {
    const { process } = this
    const { events, now } = changes
    const written = statementsOf(changes, this.head.number + 1)
    let { number, hash } = this.head
    if (events.length > 0 || isTold) {
      number += 1
      const row = journalRow(number, hash, now.at, events)
      hash = Buffer.from(row.hash)
      this.add(
        statement('INSERT INTO journal VALUES ($1::bigint, $2::bigint, $3::text, $4::bytea)', [
          number,
          now.at,
          row.touched,
          hash,
        ]),
      )
    }
    const version = this.head.version + 1
    const untold = changesUntold(changes, process) ? version : this.head.untold
    this.next = { version, number, hash, untold }
    this.add(...written)
    if (notifyText === undefined) return
    // Others see renewals, and who has come, when they look by themselves.
    const news = untold === version ? 'all' : newsOf(changes, process)
    if (news !== 'none') this.notice = statement(notifyText, [newsText({ writer: process, version, news })])
  }

  /** Hands over what it writes, and where it moves the head. `begins`: begins it on the server, where that has not been done. */
  handOver(
    schema: number,
    begins: readonly Statement[],
  ): { readonly to: Head; readonly statements: Statement[]; readonly notice: Statement | undefined } {
    const { head, next, notice, open, process, writes } = this
    const statements = open === 'assumed' ? [...begins] : []
    if (next !== undefined) statements.push(movedHead(schema, head, next, process))
    else if (open === 'assumed') statements.push(standingHead(schema, head))
    statements.push(...writes)
    this.forget()
    return { to: { ...(next ?? head) }, statements, notice }
  }
}
