import { type EntryRow, type FoldedRow, isFold } from '@ku0/agent-runtime-core/transition'
import { prepareLedgerLoad } from '../../sqlite/ledger.ts'
import type { Db } from '../../sqlite/open.ts'
import { Statements } from '../../sqlite/statements.ts'
import type { Faults } from './faults.ts'

/**
 * The credits of a client, and what is reserved of them, are the sums of the entries of its ledger, one after the other. Each entry is as its kind
 * says, and what a task gives back is what was reserved for it before. A ledger that was folded begins with the opening entry that is known from the
 * fold, and no other does. In slices of entries. Source: `docs/semantics.md 11.8`.
 */
export function* checkLedgers(db: Db, faults: Faults, slice: <T>(run: () => T) => T): Generator<void, void> {
  const next = db
    .prepare<[string], string>('SELECT name FROM client WHERE name > ? AND entries > 0 ORDER BY name LIMIT 1')
    .pluck()
  const first = db.prepare<[], number>("SELECT entries FROM client WHERE name = ''").pluck()
  const standing = db.prepare<[string], Standing>(
    'SELECT entries AS seq, credits, reserved FROM client WHERE name = ?',
  )
  const open = db.prepare<[number], number>('SELECT 1 FROM task WHERE id = ? AND state < 3').pluck()
  const load = prepareLedgerLoad(new Statements(db))
  let name: string | undefined = (first.get() ?? 0) > 0 ? '' : next.get('')
  while (name !== undefined) {
    const client: string = name
    let last: Standing = { seq: 0, credits: 0, reserved: 0 }
    let held = new Held(0)
    for (let more = true; more;) {
      more = slice(() => {
        const folded = load.folded(client)
        // It may be folded while it is read: what was read is in the opening entry then.
        if (folded !== undefined && folded.entries > last.seq) {
          last = checkFold(client, folded)
          held = new Held(last.reserved)
        }
        const rows = load.page(client, last.seq, entriesInSlice)
        for (const row of rows) last = checkEntry(row, last, held)
        if (rows.length === entriesInSlice) return true
        // As of the same moment as the last of them.
        const kept = standing.get(client)
        if (kept !== undefined) checkStanding(client, last, kept)
        for (const task of held.tasks)
          if (open.get(task) === undefined)
            faults.add('row', `client ${client}, reserved`, 'nothing for a task that is over', `task ${task}`)
        return false
      })
      yield
    }
    name = next.get(client)
  }
  for (const table of ['ledger', 'folded']) {
    const stray = db
      .prepare<[], string>(
        `SELECT client FROM ${table} WHERE client NOT IN (SELECT name FROM client WHERE entries > 0) LIMIT 1`,
      )
      .pluck()
      .get()
    if (stray !== undefined) faults.add('row', `${table} of client ${stray}`, 'a client with entries', 'none')
  }

  /** The opening entry stands for all entries up to it, and is as the fold made it. */
  function checkFold(client: string, folded: FoldedRow): Standing {
    const { entries: seq } = folded
    const where = `client ${client}, entry ${seq}`
    const [opening] = load.page(client, 0, 1)
    if (opening?.seq !== seq)
      faults.add(
        'row',
        where,
        'the opening entry of a fold',
        opening === undefined ? 'none' : `entry ${opening.seq}`,
      )
    else if (!isFold(opening, folded))
      faults.add('row', where, `a fold of ${seq} entries, hash ${folded.hash}`, opening.note ?? opening.kind)
    return { seq, credits: opening?.credits ?? 0, reserved: opening?.reserved ?? 0 }
  }

  function checkEntry(row: EntryRow, before: Standing, tasks: Held): Standing {
    const { client, seq, kind, amount, held, credits, reserved, note } = row
    const where = `client ${client}, entry ${seq}`
    faults.same(where, before.seq + 1, seq)
    // Nothing is before the first entry; one that stands for others is known from its fold.
    if (kind === 'opening' && (seq > 1 || note !== null))
      faults.add('row', where, 'no opening entry', note ?? kind)
    if (!isOfItsKind(row)) faults.add('row', `${where}, kind`, `as a ${kind} is`, shownOf(row))
    if (!tasks.take(row)) faults.add('row', `${where}, task`, 'what was reserved for it', shownOf(row))
    same(`${where}, credits`, before.credits + amount, credits)
    same(`${where}, reserved`, before.reserved + held, reserved)
    return { seq, credits, reserved }
  }

  function checkStanding(client: string, last: Standing, kept: Standing): void {
    faults.same(`client ${client}, entries`, last.seq, kept.seq)
    same(`client ${client}, credits`, last.credits, kept.credits)
    same(`client ${client}, reserved`, last.reserved, kept.reserved)
  }

  function same(where: string, counted: number, kept: number): void {
    if (counted !== kept) faults.add('sum', where, counted, kept)
  }
}

interface Standing {
  readonly seq: number
  readonly credits: number
  readonly reserved: number
}

/** What the entries so far say that tasks hold. */
class Held {
  readonly #byTask = new Map<number, number>()
  /** Of tasks whose reservation was folded. */
  #folded: number

  constructor(folded: number) {
    this.#folded = folded
  }

  get tasks(): Iterable<number> {
    return this.#byTask.keys()
  }

  /** False if nobody has reserved so much for the task, or if it was done twice. */
  take({ task, kind, held }: EntryRow): boolean {
    if (task === null) return true
    const before = this.#byTask.get(task)
    if (kind === 'reserve') {
      this.#byTask.set(task, (before ?? 0) + held)
      return before === undefined
    }
    if (before === undefined) {
      this.#folded += held
      return this.#folded >= 0
    }
    if (before + held === 0) this.#byTask.delete(task)
    else this.#byTask.set(task, before + held)
    return before + held >= 0
  }
}

/** Whether an entry can be of its kind. Source: `docs/credits.md`, Entries. */
function isOfItsKind({ kind, amount, held, task, key, note }: EntryRow): boolean {
  const isOfTask = task !== null && key === null && note === null
  switch (kind) {
    case 'opening':
      return task === null && key === null
    case 'purchase':
      return task === null && amount > 0 && held === 0
    case 'reserve':
      return isOfTask && amount < 0 && held === -amount
    case 'settle':
      return isOfTask && amount <= 0 && held <= 0
    case 'refund':
      return isOfTask && amount > 0 && held === -amount
    case 'set':
      return task === null && held === 0 && key === null && note === null
  }
}

function shownOf({ kind, amount, held, task }: EntryRow): unknown {
  return { kind, amount, held, task }
}

const entriesInSlice = 1_000
