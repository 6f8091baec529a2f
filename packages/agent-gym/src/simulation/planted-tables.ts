import { CHAIN_START, chainText, createIdCodec, type IdCodec, type Write } from '@ku0/agent-runtime-core'
import { chainDigest } from '@ku0/agent-runtime-persistence/testing'
import Database from 'better-sqlite3'
import type { Ground } from './plant.ts'

/** The ids of the store in a file. */
export function idsOf(path: string): IdCodec {
  const db = new Database(path, { readonly: true })
  const storeId = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'store_id'").pluck().get()
  db.close()
  return createIdCodec(storeId ?? '')
}

/** What a query of a planted bug asks for; each asks for columns that it knows. */
interface Row {
  readonly value: string
  readonly task: number
  readonly key: string
  readonly lease: number | null
  readonly attempt: number
  readonly state: number
  readonly seq: number
  readonly tail: Buffer
}

/** A connection that changes the tables behind the back of the stores, as a bug in one of them would. */
export class Tables {
  readonly ids: IdCodec
  readonly #db: Database.Database
  readonly #ground: Ground
  #timers = new Map<string, { task: number; key: string; position: number; due_at: number }>()
  #lowered: { task: number; fence: number }[] = []
  #hidden: { id: number; types: string } | undefined

  constructor(ground: Ground) {
    this.#ground = ground
    this.#db = new Database(ground.path, { timeout: 0 })
    this.#db.pragma('synchronous = 0')
    this.ids = idsOf(ground.path)
  }

  close(): void {
    this.#db.close()
  }

  get #leaseNow(): number {
    const offset = this.#get("SELECT value FROM meta WHERE key = 'boot_offset'")
    return Math.floor(this.#ground.now() + Number(offset?.value))
  }

  /** The live lease of the task that an ended one was for. */
  liveLeaseBehind(leaseId: string): number | undefined {
    const row = this.#get(
      'SELECT task.lease, lease.id AS own FROM lease JOIN task ON task.id = lease.task WHERE lease.id = ? AND lease.state <> 0',
      this.ids.leaseNumber(leaseId) ?? 0,
    )
    return row?.lease ?? undefined
  }

  renew(lease: number): void {
    this.#run(
      'UPDATE lease SET expires_at = ? WHERE id = ?',
      this.#leaseNow + this.#ground.config.leaseTtlMs,
      lease,
    )
  }

  revive(processId: string): void {
    const now = this.#leaseNow
    const lapsed = this.#get(
      'SELECT 1 FROM lease JOIN process ON process.id = lease.process WHERE state = 0 AND expires_at <= ? AND process_id = ?',
      now,
      processId,
    )
    if (lapsed === undefined) return
    this.#run(
      'UPDATE lease SET expires_at = ? WHERE state = 0 AND expires_at <= ? AND process = (SELECT id FROM process WHERE process_id = ?)',
      now + this.#ground.config.leaseTtlMs,
      now,
      processId,
    )
  }

  lapsed(which?: 'of callers'): { lease: number; task: number }[] {
    const those = which === undefined ? '' : ' AND worker = 0'
    return this.#db
      .prepare<[number], { lease: number; task: number }>(
        `SELECT id AS lease, task FROM lease WHERE state = 0 AND expires_at <= ?${those}`,
      )
      .all(this.#leaseNow)
  }

  /** As it was decided, whatever has become of the task since. */
  requeueBlindly(task: number, lease: number): void {
    const row = this.#get('SELECT attempt, state FROM task WHERE id = ?', task)
    if (row === undefined || row.state === 0) return
    this.#append(task, 'task.requeued', {
      attempt: row.attempt + 1,
      leaseId: this.ids.lease(lease),
      reason: 'expired',
    })
    this.#run(
      'UPDATE task SET state = 0, lease = NULL, finished_at = NULL, wait_reason = NULL, due_at = NULL, attempt = attempt + 1, crashes = crashes + 1 WHERE id = ?',
      task,
    )
    this.#run('UPDATE stream SET depth = depth + 1 WHERE id = (SELECT stream FROM task WHERE id = ?)', task)
  }

  /** As a store would that keeps the last result: with the chain of all that comes after it. */
  overwriteMemo({ leaseId, key, result }: Extract<Write, { kind: 'recordStep' }>): void {
    const memo = this.#get(
      `SELECT task, seq FROM event WHERE type = 'step.completed' AND blob IS NULL AND json_extract(data, '$.key') = ?
        AND json_extract(data, '$.result') <> json_extract(?, '$') AND task = (SELECT task FROM lease WHERE id = ?)`,
      key,
      result,
      this.ids.leaseNumber(leaseId) ?? 0,
    )
    if (memo === undefined) return
    const overwrite = this.#db.transaction(() => {
      this.#db
        .prepare("UPDATE event SET data = json_set(data, '$.result', json(?)) WHERE task = ? AND seq = ?")
        .run(result, memo.task, memo.seq)
      this.#chainAnew(memo.task)
    })
    this.#unlessBusy(() => overwrite.immediate())
  }

  /** As by a store that records a step and does not look who asks. */
  recordForNobody(): void {
    const queued = this.#get('SELECT id AS task FROM task WHERE state = 0 ORDER BY id DESC LIMIT 1 + 0')
    const data = { key: 'of nobody', position: 1_000, durationMs: 0, result: null }
    if (queued !== undefined) this.#append(queued.task, 'step.completed', data)
  }

  /** Its task runs on under it. */
  endLease(): void {
    this.#run(
      "UPDATE lease SET state = 2, ended_at = ?, end_reason = 'expired', end_seq = 0 WHERE id = (SELECT max(id) FROM lease WHERE state = 0)",
      Math.floor(Date.UTC(2026, 0, 1) + this.#ground.now()),
    )
  }

  #chainAnew(task: number): void {
    let hash: Uint8Array = CHAIN_START
    const events = this.#db.prepare<[number], { seq: number; type: string; at: number; data: string }>(
      'SELECT seq, type, at, data FROM event WHERE task = ? ORDER BY seq',
    )
    for (const { seq, type, at, data } of events.all(task)) {
      hash = chainDigest(hash, chainText(task, seq, type, at, data))
      this.#db.prepare('UPDATE event SET hash = ? WHERE task = ? AND seq = ?').run(hash, task, seq)
    }
    this.#db.prepare('UPDATE task SET tail = ? WHERE id = ?').run(hash, task)
  }

  hurryTimers(): void {
    const one = this.#get(
      "SELECT task, key FROM wait WHERE kind = 0 AND key NOT LIKE '$%' AND due_at > ? LIMIT 1 + 0",
      Date.UTC(2026, 0, 1) + this.#ground.now() + 60,
    )
    if (one === undefined) return
    this.#run('UPDATE wait SET due_at = due_at - 60 WHERE task = ? AND key = ?', one.task, one.key)
    this.#run(
      'UPDATE task SET due_at = due_at - 60 WHERE id = ? AND state = 2 AND due_at IS NOT NULL',
      one.task,
    )
  }

  rememberTimers(): void {
    const rows = this.#db
      .prepare<[], { task: number; key: string; position: number; due_at: number }>(
        "SELECT task, key, position, due_at FROM wait WHERE kind = 0 AND key NOT LIKE '$%'",
      )
      .all()
    this.#timers = new Map(rows.map((row) => [`${row.task} ${row.key}`, row]))
  }

  bringBackTimers(): void {
    for (const { task, key, position, due_at } of this.#timers.values()) {
      const gone = this.#get(
        'SELECT 1 FROM task WHERE id = ? AND state < 2 AND NOT EXISTS (SELECT 1 FROM wait WHERE task = task.id AND key = ?)',
        task,
        key,
      )
      if (gone === undefined) continue
      this.#run('INSERT INTO wait VALUES (?, ?, ?, 0, NULL, ?, NULL)', task, key, position, due_at)
      this.#run('UPDATE task SET waits = waits + 1 WHERE id = ?', task)
    }
  }

  skipEvent(): void {
    this.#run('UPDATE task SET seq = seq + 1 WHERE id = (SELECT max(id) FROM task WHERE state < 2)')
  }

  countAttempt(): void {
    this.#run('UPDATE task SET attempt = attempt + 1 WHERE id = (SELECT max(id) FROM task WHERE state < 2)')
  }

  /** As by a store that does not look whether a task still waits. */
  resumeAgain(): void {
    const last = this.#get(
      "SELECT task, data AS value FROM event JOIN task ON task.id = event.task AND task.seq = event.seq WHERE type = 'task.resumed' AND state = 0 LIMIT 1 + 0",
    )
    if (last !== undefined) this.#append(last.task, 'task.resumed', JSON.parse(last.value) as object)
  }

  /** What starts next has the token that its task had before. */
  takeBackTokens(): void {
    const rows = this.#db
      .prepare<[], { task: number; fence: number }>(
        'SELECT id AS task, fence FROM task WHERE state = 0 AND fence > 0',
      )
      .all()
    if (rows.length === 0) return
    this.#lowered = rows
    this.#run('UPDATE task SET fence = fence - 1 WHERE state = 0 AND fence > 0')
  }

  /** Those that did not start have theirs again. */
  restoreTokens(): void {
    for (const { task, fence } of this.#lowered.splice(0))
      this.#run('UPDATE task SET fence = ? WHERE id = ? AND fence = ? AND state <> 1', fence, task, fence - 1)
  }

  /** As one that runs nothing it is given nothing. */
  hideWorker(name: string): void {
    const worker = this.#get(
      'SELECT id AS task, types AS value FROM worker WHERE worker_id = ? AND registered = 1',
      name,
    )
    if (worker === undefined) return
    this.#hidden = { id: worker.task, types: worker.value }
    this.#run("UPDATE worker SET types = '[]' WHERE id = ?", worker.task)
  }

  showWorker(): void {
    if (this.#hidden === undefined) return
    this.#run('UPDATE worker SET types = ? WHERE id = ?', this.#hidden.types, this.#hidden.id)
    this.#hidden = undefined
  }

  miscountQueue(): void {
    this.#run('UPDATE stream SET depth = depth + 1')
  }

  leakQuota(): void {
    this.#run('UPDATE quota SET running = running + 1')
  }

  forgetTokens(): void {
    this.#run("UPDATE budget SET used = json_set(used, '$.tokens', 0)")
  }

  payAgain(): void {
    this.#run('UPDATE client SET spent = spent * 2')
  }

  forgetRestarts(): void {
    this.#run("DELETE FROM signal WHERE name = '$ku0/restart'")
  }

  /** The last stage of a pipeline takes its next event for received. */
  skipUnread(): void {
    const taken = "coalesce(json_extract(log, '$.parts[2].taken.m'), 0)"
    this.#run(
      `UPDATE pipeline SET log = json_set(log, '$.parts[2].taken.m', ${taken} + 1) WHERE ${taken} < json_extract(log, '$.published.m')`,
    )
  }

  /** What the first partition has to receive the second has to receive as well. */
  giveToBoth(): void {
    const unread = "json_extract(log, '$.parts[1].unread.n')"
    this.#run(
      `UPDATE pipeline SET log = json_set(log, '$.parts[2].unread.n', json(${unread}))
        WHERE json_extract(log, '$.parts[2].partition') = 2 AND ${unread} IS NOT NULL AND json_extract(log, '$.parts[2].unread.n') IS NULL`,
    )
  }

  fadeCredits(): void {
    this.#run('UPDATE client SET credits = credits - 1000000 WHERE id = (SELECT max(id) FROM client)')
  }

  /** A client that was asked for credits is forgotten to have been. */
  forgetRequest(): void {
    this.#run('UPDATE client SET asks = NULL')
  }

  /** The last settlement of a client leaves something reserved. */
  forgetSettlement(): void {
    this.#run(
      'UPDATE ledger SET held = held + 250000, reserved = reserved + 250000 WHERE kind = 3 AND seq = (SELECT max(seq) FROM ledger AS other WHERE other.client = ledger.client)',
    )
  }

  /** What was folded comes to more than it was, once, and so does all that came after it. */
  raiseOpening(): void {
    const folded = '(SELECT client FROM ledger WHERE kind = 0 AND seq > 1)'
    if (this.#get("SELECT 1 FROM ledger WHERE note = 'raised'") !== undefined) return
    this.#run(`UPDATE client SET credits = credits + 250000 WHERE name IN ${folded}`)
    this.#run(
      `UPDATE ledger SET credits = credits + 250000, amount = amount + CASE kind WHEN 0 THEN 250000 ELSE 0 END,
         note = CASE kind WHEN 0 THEN 'raised' ELSE note END
        WHERE client IN ${folded}`,
    )
  }

  rewindSchedules(): void {
    this.#run("DELETE FROM idempotency WHERE key LIKE 'schedule:%'")
    this.#run('UPDATE schedule SET next_at = last_due_at WHERE last_due_at IS NOT NULL AND paused = 0')
  }

  /** An event that is in the task's chain as it should be. */
  #append(task: number, type: string, data: object): void {
    const row = this.#get('SELECT seq, tail FROM task WHERE id = ?', task)
    const seq = (row?.seq ?? 0) + 1
    const at = Math.floor(Date.UTC(2026, 0, 1) + this.#ground.now())
    const text = JSON.stringify(data)
    const hash = chainDigest(row?.tail ?? CHAIN_START, chainText(task, seq, type, at, text))
    this.#run('INSERT INTO event VALUES (?, ?, ?, ?, ?, NULL, ?)', task, seq, type, at, text, hash)
    this.#run('UPDATE task SET seq = ?, tail = ? WHERE id = ?', seq, hash, task)
  }

  #get(sql: string, ...values: unknown[]): Row | undefined {
    return this.#db.prepare<unknown[], Row>(sql).get(...values)
  }

  #run(sql: string, ...values: unknown[]): void {
    this.#unlessBusy(() => this.#db.prepare(sql).run(...values))
  }

  /** Where another has the lock the bug does not show this time. */
  #unlessBusy(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!String((error as { code?: string }).code).startsWith('SQLITE_BUSY')) throw error
    }
  }
}
