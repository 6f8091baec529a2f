import { statSync } from 'node:fs'
import { createIdCodec, type DataLoss } from '@ku0/agent-runtime-core'
import Database from 'better-sqlite3'
import type { Anchor } from '../../sqlite/anchor.ts'
import { lossIn } from '../data-loss.ts'
import { pastIncarnations } from '../../sqlite/incarnations.ts'
import type { Hashes } from '../../sqlite/integrity.ts'
import { listed, namesOf, type RowOf } from '../../sqlite/columns.ts'
import { prepareLoad, taskOf } from '../../sqlite/load.ts'
import type { Db } from '../../sqlite/open.ts'
import { Statements } from '../../sqlite/statements.ts'
import { migrations } from '../../sqlite/schema.ts'
import { brokenChecks, checksIn } from './check-rules.ts'
import { Faults } from './faults.ts'
import { checkForms } from './form-rules.ts'
import { commitsOf, JournalWalk } from './journal-rules.ts'
import { checkLedgers } from './ledger-rules.ts'
import { checkMeta } from './meta-rules.ts'
import { checkPipelines } from './pipeline-rules.ts'
import { remedyOf } from './remedy.ts'
import { checkEvaluations, checkOwners, checkRecords } from './record-rules.ts'
import { checkCounters, compareSpent, compareSums, readSpent, readSums, type Sums } from './sum-rules.ts'
import type { Tally } from './tally.ts'
import { prepareTaskRules } from './task-rules.ts'
import type { Seal, Verification } from './verification.ts'

interface VerifyCase {
  readonly db: Db
  /** Of its file. */
  readonly path: string
  /** It ends before the last page that its header names. */
  readonly isCut: boolean
  /** As it was before the first slice. */
  readonly anchor: Anchor | 'unreadable' | undefined
  readonly hashes: Hashes
  readonly maxFaults: number
  /** Of this store: it begins after it. */
  readonly since: Seal | undefined
  /** Empty; it counts what was looked at. */
  readonly tally: Tally
}

/**
 * Verifies a database slice by slice: between two of them other work may go on, and so may whoever writes to it. Each slice is a transaction of
 * its own that sees one state. Nothing is written.
 */
export function* verifyDatabase({
  db,
  path,
  isCut,
  anchor: found,
  hashes,
  maxFaults,
  since,
  tally,
}: VerifyCase): Generator<void, Verification> {
  const faults = new Faults(maxFaults)
  const slice = <T>(run: () => T): T => db.transaction(run)()
  let storeId = noStoreId
  let walk: JournalWalk | undefined
  /** Whether all could be read. */
  let isWhole = false
  const anchor = found === 'unreadable' ? undefined : found
  if (found === 'unreadable')
    faults.add('anchor', 'the anchor', 'one that can be read', 'one that cannot be trusted')
  const size = checkSize(db, { path, isCut }, faults)
  try {
    checkObjects(db, faults)
    yield
    if (since === undefined) yield* checkTables(db, faults, slice)
    slice(() => checkMeta(db, faults))
    storeId = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'store_id'").pluck().get() ?? ''
    const loss = slice(() => lossIn(db, path, anchor))
    if (loss !== undefined) tellLoss(loss, faults)
    yield* since === undefined ? checkAll() : checkSince(since)
    isWhole = true
  } catch (error) {
    if (!isDamage(error)) throw error
    faults.add('file', 'a page', 'what SQLite can read', (error as Error).message)
  }
  const lastGood = isWhole ? yield* findLastGood() : { commit: 0, at: null }
  return {
    ok: faults.count === 0,
    storeId,
    tasks: tally.tasks,
    events: tally.events,
    commits: walk?.number ?? 0,
    faults: faults.listed,
    faultCount: faults.count,
    lastGood,
    remedy: faults.count === 0 ? null : remedyOf({ size, lastGood: lastGood.commit }),
    anchored: anchor?.commit ?? null,
    since: since?.commit ?? null,
    seal:
      faults.count === 0 && walk !== undefined ? { storeId, commit: walk.number, hash: walk.lastHash } : null,
  }

  function* checkAll(): Generator<void, void> {
    const load = prepareLoad(new Statements(db))
    yield* checkForms(db, faults, slice)
    const before = slice(() => readSums(db, load))
    yield
    const spent = slice(() => readSpent(db))
    const after = yield* checkTasks(load)
    compareSums(tally, before, after, faults)
    compareSpent(tally, spent, after.retired, faults)
    yield
    slice(() => faults.reading('counters', () => checkCounters(db, load, faults)))
    yield
    slice(() => checkOwners(db, faults))
    yield
    slice(() => faults.reading('records', () => checkRecords(db, load, faults)))
    yield* checkPipelines(db, load, faults, slice)
    yield* checkEvaluations(db, faults, slice)
    yield* checkLedgers(db, faults, slice)
    yield* checkJournal(before, after)
  }

  /** The commits after a seal, and all tasks that they touched; then counters, which indexes count. What no commit touched since is believed. */
  function* checkSince({ commit, hash }: Seal): Generator<void, void> {
    const load = prepareLoad(new Statements(db))
    const journal = new JournalWalk(db, faults)
    walk = journal
    const end = slice(() => {
      journal.beginAfter(commit, hash)
      return load.journal()?.[0] ?? 0
    })
    while (slice(() => journal.slice(end))) yield
    const { checkTask, forget } = rulesOfTasks(load)
    const rowOf = db.prepare<[number], RowOf<'task'>>(`SELECT ${listed('task')} FROM task WHERE id = ?`).raw()
    const stray = db.prepare<[number], number>('SELECT 1 FROM event WHERE task = ? LIMIT 1').pluck()
    const left = (journal.touched ?? []).values()
    const sliceOf = (): boolean => {
      let seen = 0
      forget()
      for (let next = left.next(); next.done !== true; next = left.next()) {
        const id = next.value
        const row = rowOf.get(id)
        if (row !== undefined) faults.reading(`task ${id}`, () => checkTask(taskOf(row)))
        else if (stray.get(id) !== undefined)
          faults.event(id, 1, 'no event of a missing task', `events of task ${id}`)
        seen += 1 + ((row?.[seqColumn] as number | undefined) ?? 0)
        if (seen >= sliceEvents) return true
      }
      return false
    }
    for (let more = true; more;) {
      more = slice(sliceOf)
      yield
    }
    slice(() => faults.reading('counters', () => checkCounters(db, load, faults)))
  }

  function rulesOfTasks(load: ReturnType<typeof prepareLoad>): ReturnType<typeof prepareTaskRules> {
    const past = pastIncarnations(db) ?? []
    const ids = createIdCodec(/^[0-9a-f]{17}$/.test(storeId) ? storeId : noStoreId, past)
    const fenceFloors = past.map(({ fenceFloor }) => fenceFloor)
    return prepareTaskRules({ db, load, ids, fenceFloors, hashes, faults, tally })
  }

  /** The sums when the last task had been looked at. */
  function* checkTasks(load: ReturnType<typeof prepareLoad>): Generator<void, Sums> {
    const { checkTask, forget } = rulesOfTasks(load)
    const tasks = db
      .prepare<[number], RowOf<'task'>>(`SELECT ${listed('task')} FROM task WHERE id > ? ORDER BY id`)
      .raw()
    const eventsBetween = db
      .prepare<[number, number], number | null>('SELECT min(task) FROM event WHERE task > ? AND task < ?')
      .pluck()
    let last = Number.MIN_SAFE_INTEGER
    const sliceOf = (): Sums | undefined => {
      let seen = 0
      forget()
      for (const row of tasks.iterate(last)) {
        const [id, seq] = [row[0], row[seqColumn] as number]
        if (id !== last + 1) checkGap(last, id)
        faults.reading(`task ${id}`, () => checkTask(taskOf(row)))
        last = id
        seen += 1 + seq
        if (seen >= sliceEvents) return undefined
      }
      checkGap(last, Number.MAX_SAFE_INTEGER)
      return readSums(db, load)
    }
    const checkGap = (from: number, to: number) => {
      const stray = eventsBetween.get(from, to) ?? undefined
      if (stray !== undefined) faults.event(stray, 1, 'no event of a missing task', `events of task ${stray}`)
    }
    for (;;) {
      const after = slice(sliceOf)
      yield
      if (after !== undefined) return after
    }
  }

  /** Every event stands in one commit. */
  function* checkJournal(before: Sums, after: Sums): Generator<void, void> {
    const journal = new JournalWalk(db, faults)
    walk = journal
    while (slice(() => journal.slice(before.commit))) yield
    const low = journal.named
    while (slice(() => journal.slice(after.commit))) yield
    const isBroken = faults.events.size > 0 || faults.firstCommit !== Number.POSITIVE_INFINITY
    // What stood in commits before the cut is named by none any more.
    const isMore = !journal.isCut && tally.events > journal.named
    if (!isBroken && (tally.events < low || isMore))
      faults.add('sum', 'events that commits name', tally.events, journal.named)
  }

  function* findLastGood(): Generator<void, Verification['lastGood']> {
    const commits =
      faults.events.size === 0 ? [] : yield* commitsOf(db, since?.commit ?? 0, faults.events, slice)
    const first = commits.reduce((least, commit) => Math.min(least, commit), faults.firstCommit)
    const row = db
      .prepare<[number], { number: number; at: number }>(
        'SELECT number, at FROM journal WHERE number < ? ORDER BY number DESC LIMIT 1',
      )
      .get(Math.min(first, (walk?.number ?? 0) + 1))
    return { commit: row?.number ?? 0, at: row?.at ?? null }
  }
}

/** Whole pages, as many as the header names; returns the size in bytes. */
function checkSize(db: Db, { path, isCut }: Pick<VerifyCase, 'path' | 'isCut'>, faults: Faults): number {
  const { size } = statSync(path)
  const pageBytes = db.pragma('page_size', { simple: true }) as number
  const pages = size / pageBytes
  const actual = `${size} bytes, ${Number.isInteger(pages) ? `${pages} pages` : `which end in page ${Math.ceil(pages)}`}`
  if (isCut)
    faults.add(
      'file',
      'the end of the file',
      'all pages that its header names',
      `${actual}: the rest is cut off`,
    )
  else if (!Number.isInteger(pages))
    faults.add(
      'file',
      'the end of the file',
      `whole pages of ${pageBytes} bytes`,
      `${actual}: the rest is cut off`,
    )
  return size
}

/** Whether all tables, indexes and views are there, as they were made. */
function checkObjects(db: Db, faults: Faults): void {
  const expected = expectedObjects()
  const actual = objectsOf(db)
  for (const [name, { sql }] of expected) {
    const own = actual.get(name)
    if (own === undefined) faults.add('file', name, 'to be there', 'missing')
    else if (own !== sql) faults.add('file', name, 'as it was made', own)
  }
  for (const name of actual.keys())
    if (name.startsWith('trigger ')) faults.add('file', name, 'no trigger', 'another program writes here')
}

/** Pages, indexes and constraints, a table at a time. */
function* checkTables(db: Db, faults: Faults, slice: <T>(run: () => T) => T): Generator<void, void> {
  const expected = expectedObjects()
  for (const name of objectsOf(db).keys()) {
    if (!name.startsWith('table ') || !expected.has(name)) continue
    const table = name.slice('table '.length)
    try {
      const lines = slice(() => db.pragma(`integrity_check('${table}')`)) as { integrity_check: string }[]
      for (const { integrity_check: line } of lines) if (line !== 'ok') faults.add('file', table, 'ok', line)
      for (const { check, rows } of slice(() => brokenChecks(db, table, expected.get(name)?.checks ?? [])))
        faults.add('file', table, `every row with ${check}`, `${rows} without`)
    } catch (error) {
      // The other tables may be whole.
      if (!isDamage(error)) throw error
      faults.add('file', table, 'what SQLite can read', (error as Error).message)
    }
    yield
  }
}

/** By type and name, how each was made. */
function objectsOf(db: Db): ReadonlyMap<string, string> {
  const all = db
    .prepare<[], [name: string, sql: string]>(
      "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'",
    )
    .raw()
    .all()
  return new Map(all)
}

interface Made {
  readonly sql: string
  readonly checks: readonly string[]
}

let made: ReadonlyMap<string, Made> | undefined

/** What this version makes, as it is written in the schema, with the constraints of tables. */
function expectedObjects(): ReadonlyMap<string, Made> {
  if (made !== undefined) return made
  const db = new Database(':memory:')
  for (const { sql } of migrations) db.exec(sql)
  made = new Map(
    [...objectsOf(db)].map(([name, sql]) => [
      name,
      { sql, checks: name.startsWith('table ') ? [...checksIn(sql), ...boundsOf(db, name)] : [] },
    ]),
  )
  db.close()
  return made
}

/** A whole number that JavaScript rounds to one more than SQLite can hold: whatever adds to it could not be written. */
function boundsOf(db: Db, name: string): readonly string[] {
  const columns = db
    .prepare<[string], string>("SELECT name FROM pragma_table_info(?) WHERE type = 'INTEGER'")
    .pluck()
    .all(name.slice('table '.length))
  return columns.map((column) => `(${column} BETWEEN -${2n ** 62n} AND ${2n ** 62n})`)
}

function tellLoss({ kind, anchored, lastGood }: DataLoss, faults: Faults): void {
  if (kind === 'damaged_log') {
    const behind = `${anchored - lastGood} transactions after commit ${lastGood}`
    faults.add('file', 'log', 'one that can be read to its end', `damaged, with ${behind}`)
    return
  }
  const actual =
    kind === 'other_store' ? 'another store' : kind === 'lost_tail' ? `commit ${lastGood}` : 'another commit'
  faults.add('anchor', `commit ${anchored}`, `commit ${anchored}`, actual)
  if (kind !== 'lost_tail') faults.firstCommit = Math.min(faults.firstCommit, lastGood + 1)
}

function isDamage(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^SQLITE_(CORRUPT|NOTADB|ERROR|IOERR_SHORT_READ)/.test(code)
}

const seqColumn = namesOf('task').indexOf('seq')
const noStoreId = '0'.repeat(17)
/** Events in one slice: some 20 ms. */
const sliceEvents = 1_000
