import { createHash } from 'node:crypto'
import type { Touched } from '../../sqlite/journal.ts'
import type { Db } from '../../sqlite/open.ts'
import type { Faults } from './faults.ts'

/**
 * Goes through the journal in slices: no number is missing, and each hash is that of the commit before and of the events that the row
 * names. Of tasks that were deleted since the hashes are kept. It begins where the journal was cut.
 */
export class JournalWalk {
  /** The number of the last commit that was looked at. */
  number = 0
  /** Events that it named so far, without those of rejected submissions. */
  named = 0
  /** Whether the journal was cut: tasks whose events it no longer names may be there. */
  isCut = false
  /** The tasks whose events were named since the commit after which it began; undefined if it reads all. */
  touched: Set<number> | undefined
  private hash: Buffer = Buffer.alloc(32)
  private readonly faults: Faults
  private readonly rows
  private readonly hashes
  private readonly one
  private readonly pruned
  private readonly base
  private readonly hashOf
  private readonly believedUntil: number

  constructor(db: Db, faults: Faults) {
    this.faults = faults
    this.rows = db.prepare<[number, number, number], JournalColumns>(
      'SELECT number, at, touched, hash FROM journal WHERE number > ? AND number <= ? ORDER BY number LIMIT ? + 0',
    )
    this.hashes = db
      .prepare<[number, number, number], [type: string, hash: Buffer]>(
        'SELECT type, hash FROM event WHERE task = ? AND seq BETWEEN ? AND ? ORDER BY seq',
      )
      .raw()
    this.one = db
      .prepare<[number, number], [type: string, hash: Buffer]>(
        'SELECT type, hash FROM event WHERE task = ? AND seq = ?',
      )
      .raw()
    this.pruned = db.prepare<[number], Buffer>('SELECT hash FROM pruned WHERE task = ?').pluck()
    this.hashOf = db.prepare<[number], Buffer>('SELECT hash FROM journal WHERE number = ?').pluck()
    this.base = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'journal_base'").pluck()
    // Before there were hashes of them, such a commit is believed.
    const until = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'pruned_unhashed_until'").pluck()
    this.believedUntil = Number(until.get() ?? 0)
  }

  /** The hash of the last commit that was looked at, in hex. */
  get lastHash(): string {
    return this.hash.toString('hex')
  }

  /** Begins after a commit that was verified before, unless the journal was cut behind it. In a transaction. */
  beginAfter(commit: number, hash: string): void {
    this.touched = new Set()
    this.skipCut()
    if (commit < this.number) return
    const kept = commit === this.number ? this.hash : this.hashOf.get(commit)
    const sealed = Buffer.from(hash, 'hex')
    if (kept === undefined) this.faults.commit(commit, brief(sealed), 'no such commit')
    else if (!kept.equals(sealed)) this.faults.commit(commit, brief(sealed), brief(kept))
    this.number = commit
    this.hash = sealed
  }

  /** One slice, up to a commit at the most; false when there is no more. In a transaction. */
  slice(upTo: number): boolean {
    this.skipCut()
    const rows = this.rows.all(this.number, upTo, sliceRows)
    for (const row of rows) this.check(row)
    return rows.length === sliceRows
  }

  /** It may be cut while it is read. */
  private skipCut(): void {
    const [number = '0', hash = ''] = this.base.get()?.split(':') ?? []
    if (!(Number(number) > this.number)) return
    this.number = Number(number)
    this.hash = Buffer.from(hash, 'hex')
    this.isCut = true
  }

  private check({ number, at, touched, hash }: JournalColumns): void {
    if (number !== this.number + 1)
      this.faults.commit(this.number + 1, 'a commit', `none before commit ${number}`)
    const digest = createHash('sha256').update(this.hash).update(`ku0.journal.1\n${number}\n${at}\n`)
    const stretches = touchedIn(touched)
    // Where nothing is named, the hash cannot tell it from a text that names nothing.
    if (stretches === undefined) this.faults.commit(number, 'the events that it added', touched)
    const isWhole = stretches !== undefined && this.add(number, stretches, digest)
    const gap = number !== this.number + 1
    this.number = number
    this.hash = hash
    if (!isWhole || gap) return
    const own = digest.digest()
    if (!own.equals(hash)) this.faults.commit(number, brief(hash), brief(own))
  }

  /** Whether all that the row names is there to be hashed. */
  private add(
    number: number,
    stretches: readonly Touched[],
    digest: { update(data: Buffer): unknown },
  ): boolean {
    let isWhole = true
    for (const [task, first, last] of stretches) {
      this.touched?.add(task)
      const found = first === last ? this.single(task, first) : this.hashes.all(task, first, last)
      for (const [type, hash] of found) {
        digest.update(hash)
        if (type !== 'task.rejected') this.named += 1
      }
      if (found.length === last - first + 1) continue
      // Of a task that was deleted, the hashes of all its events are kept.
      const kept = found.length === 0 ? this.pruned.get(task) : undefined
      if (kept !== undefined && kept.length >= last * 32) {
        digest.update(kept.subarray((first - 1) * 32, last * 32))
        continue
      }
      isWhole = false
      const isBelieved = found.length === 0 && first === 1 && last === 1 && number <= this.believedUntil
      if (!isBelieved)
        this.faults.commit(number, `events ${first} to ${last} of task ${task}`, `${found.length} of them`)
    }
    return isWhole
  }

  private single(task: number, seq: number): readonly (readonly [type: string, hash: Buffer])[] {
    const row = this.one.get(task, seq)
    return row === undefined ? [] : [row]
  }
}

/** The commits after one that added these events, by task: of each task one. In slices, since it reads the whole journal. */
export function* commitsOf(
  db: Db,
  begin: number,
  events: ReadonlyMap<number, number>,
  slice: <T>(run: () => T) => T,
): Generator<void, readonly number[]> {
  const rows = db.prepare<[number, number], JournalColumns>(
    'SELECT number, at, touched, hash FROM journal WHERE number > ? ORDER BY number LIMIT ? + 0',
  )
  const commits: number[] = []
  for (let after = begin, more = true; more;) {
    const found = slice(() => rows.all(after, sliceRows))
    for (const { number, touched } of found)
      for (const [task, first, last] of touchedIn(touched) ?? []) {
        const seq = events.get(task)
        if (seq !== undefined && first <= seq && seq <= last) commits.push(number)
      }
    after = found.at(-1)?.number ?? after
    more = found.length === sliceRows
    yield
  }
  return commits
}

/** The stretches in a text; undefined where it is none that the store wrote. */
function touchedIn(text: string): readonly Touched[] | undefined {
  try {
    const stretches: unknown = JSON.parse(text)
    const isOurs =
      Array.isArray(stretches) && stretches.every(isStretch) && JSON.stringify(stretches) === text
    return isOurs ? (stretches as readonly Touched[]) : undefined
  } catch {
    return undefined
  }
}

function isStretch(it: unknown): boolean {
  return (
    Array.isArray(it) && it.length === 3 && it.every((value) => Number.isSafeInteger(value)) && it[1] <= it[2]
  )
}

interface JournalColumns {
  readonly number: number
  readonly at: number
  readonly touched: string
  readonly hash: Buffer
}

function brief(hash: Buffer): string {
  return `hash ${hash.toString('hex').slice(0, 12)}`
}

const sliceRows = 500
