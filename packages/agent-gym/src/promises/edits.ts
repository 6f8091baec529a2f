import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import Database from 'better-sqlite3'
import { Load } from '../soak/load.ts'
import { seededRandom } from '../work/random.ts'
import type { Measured } from './figures.ts'
import type { Means } from './scenario-runs.ts'

interface EventRow {
  readonly task: number
  readonly seq: number
  readonly type: string
  readonly at: number
  readonly data: string
  readonly blob: string | null
  readonly hash: Buffer
}

/** What may be done to an event: the row that stands in its place afterwards, or none. */
const edits: Readonly<Record<string, (event: EventRow) => EventRow | undefined>> = {
  'another type': (event) => ({
    ...event,
    type: event.type === 'task.queued' ? 'task.rejected' : 'task.queued',
  }),
  'a ms later': (event) => ({ ...event, at: event.at + 1 }),
  'a space more in its data': (event) => ({ ...event, data: `${event.data} ` }),
  'other data': (event) => ({ ...event, data: event.data === '{}' ? '{"more":1}' : '{}' }),
  'another blob': (event) => ({ ...event, blob: event.blob === null ? 'a'.repeat(64) : null }),
  'a bit of its hash': (event) => ({
    ...event,
    hash: Buffer.from(event.hash.map((byte, i) => (i === 31 ? byte ^ 1 : byte))),
  }),
  'of another task': (event) => ({ ...event, task: event.task + 1_000_000 }),
  'at another place': (event) => ({ ...event, seq: event.seq + 1_000_000 }),
  'taken away': () => undefined,
}

/** Tasks of the store that is edited, at least, and edits for which it has one more: each has some eighty ways to be edited. */
const leastTasks = 40
const editsPerTask = 50

/**
 * Edits single events of a store with tasks of all kinds, drawn from the seed, one at a time, and looks whether verify finds each, and where it is.
 * Source: `docs/operating.md`, Verify.
 */
export async function measureEdits(count: number, { seed, signal }: Means): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'gym-edits-'))
  const path = join(folder, 'runtime.db')
  try {
    const load = await Load.open(path, seed, undefined)
    await load.round(Math.max(leastTasks, Math.ceil(count / editsPerTask)))
    await load[Symbol.asyncDispose]()
    const db = new Database(path)
    try {
      // Only this process reads what it edits, before it is mended again.
      db.pragma('synchronous = OFF')
      const events = db.prepare<[], EventRow>('SELECT * FROM event ORDER BY task, seq').all()
      const drawn = drawEdits(events, count, seed)
      const silent: string[] = []
      for (const { event, how } of drawn) {
        signal.throwIfAborted()
        const edited = edits[how]?.(event)
        put(db, event, edited)
        const { faults } = await verifyStore(`sqlite:${path}`)
        put(db, edited, event)
        const place = `task ${event.task}, event ${event.seq}`
        if (!faults.some(({ where }) => where === place)) silent.push(`${place} (${event.type}): ${how}`)
      }
      const mended = await verifyStore(`sqlite:${path}`)
      return judgeEdits({
        asked: count,
        edits: drawn.length,
        possible: events.length * Object.keys(edits).length,
        silent,
        isMended: mended.ok,
      })
    } finally {
      db.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Every edit has to be found. */
export function judgeEdits({
  asked,
  edits: made,
  possible,
  silent,
  isMended,
}: {
  readonly asked: number
  readonly edits: number
  readonly possible: number
  /** Those of which verify said nothing. */
  readonly silent: readonly string[]
  /** Whether it has nothing to say once all are undone. */
  readonly isMended: boolean
}): Measured {
  const part = made === 0 ? null : (100 * (made - silent.length)) / made
  return {
    promise: 'R9 edits',
    figures: [
      { what: 'ways to edit one event of the store', value: possible, unit: '' },
      { what: 'edits made, one at a time', value: made, unit: '', bar: { equals: asked } },
      { what: 'edits found by verify, at their place', value: part, unit: '%', bar: { equals: 100 } },
    ],
    faults: [
      ...silent.slice(0, 20).map((edit) => `not found: ${edit}`),
      ...(isMended ? [] : ['verify finds faults in a store in which every edit was undone']),
    ],
  }
}

/** So many different ones, or all that there are. */
function drawEdits(
  events: readonly EventRow[],
  count: number,
  seed: number,
): readonly { readonly event: EventRow; readonly how: string }[] {
  const random = seededRandom(seed, 'edits')
  const all = events.flatMap((event) => Object.keys(edits).map((how) => ({ event, how })))
  return Array.from({ length: Math.min(count, all.length) }, () => {
    const at = random.int(0, all.length - 1)
    const [drawn] = all.splice(at, 1)
    return drawn as (typeof all)[number]
  })
}

/** Puts a row in the place of another; either may be none. */
function put(db: Database.Database, before: EventRow | undefined, after: EventRow | undefined): void {
  db.transaction(() => {
    if (before !== undefined)
      db.prepare('DELETE FROM event WHERE task = ? AND seq = ?').run(before.task, before.seq)
    if (after !== undefined)
      db.prepare(
        'INSERT INTO event (task, seq, type, at, data, blob, hash) VALUES (@task, @seq, @type, @at, @data, @blob, @hash)',
      ).run(after)
  })()
}
