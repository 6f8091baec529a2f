import { join } from 'node:path'
import { ReferenceModel } from '@ku0/agent-runtime-conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws, everyNth, isWhole } from '../../../../tools/draws.ts'
import { openStore, type Verification } from '../../src/index.ts'
import { columns, namesOf, type TableName } from '../../src/sqlite/columns.ts'
import { forge } from '../helpers/forged.ts'
import { lifeOf } from '../model/model-lives.ts'
import { config as modelConfig, Real } from '../model/model-real.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { changed, editEach, type EventRow, good, places, Spoiled, verify } from '../helpers/spoiled-store.ts'
import { missable, untold } from '../helpers/untold.ts'
import { live, lived, publishAndReceive } from '../helpers/whole-life.ts'

// Each look at a store takes about 20 ms: the quick tests look at a few of what verify-edits.proof.test.ts looks at whole.

const placeOf = ({ task, seq }: Pick<EventRow, 'task' | 'seq'>) => `task ${task}, event ${seq}`
/** Those of an event, among the places of what was found. */
const placesIn = (found: Verification | undefined, event: EventRow) =>
  (places(found) ?? []).filter((place) => place === placeOf(event)).slice(0, 1)

describe('every edit of a stored event is found, where it is (docs/reliability.md H08, R9)', () => {
  test('each column of each event', { timeout: 120_000 }, async () => {
    const it = new Spoiled(await lived())
    expect(it.events.length).toBeGreaterThan(20)
    const edits: readonly [string, (event: EventRow) => unknown][] = [
      ['type', ({ type }) => (type === 'task.queued' ? 'task.rejected' : 'task.queued')],
      ['at', ({ at }) => at + 1],
      ['data', ({ data }) => changed(data)],
      ['data', ({ data }) => `${data} `],
      ['data', () => 'no JSON'],
      ['blob', ({ blob }) => (blob === null ? 'a'.repeat(64) : null)],
      ['hash', ({ hash }) => Buffer.from(hash.map((byte, index) => (index === 31 ? byte ^ 1 : byte)))],
      ['task', ({ task }) => task + 1_000],
      ['seq', ({ seq }) => seq + 1_000],
    ]
    for (const [index, event] of it.events.entries())
      for (const [column, edit] of draws(
        everyNth(edits, edits.length * 32, index),
        everyNth(edits, 16, index),
        edits,
      )) {
        const found = await it.after((db) => {
          const { changes } = db
            .prepare(`UPDATE event SET ${column} = ? WHERE task = ? AND seq = ?`)
            .run(edit(event), event.task, event.seq)
          expect(changes).toBe(1)
        })
        const what = `${column} of event ${event.task}:${event.seq}`
        expect({ what, at: placesIn(found, event), good: found?.lastGood.commit }).toEqual({
          what,
          at: [placeOf(event)],
          good: it.commitOf(event) - 1,
        })
      }
  })

  test(
    'each event removed, repeated, put in the place of the next, or followed by one too many',
    { timeout: 120_000 },
    async () => {
      const it = new Spoiled(await lived())
      for (const event of everyNth(it.events, draws(128, 16, 1))) {
        const { task, seq } = event
        const removed = await it.after((db) =>
          db.prepare('DELETE FROM event WHERE task = ? AND seq = ?').run(task, seq),
        )
        expect(places(removed)).toContain(placeOf(event))
        expect(removed?.lastGood.commit).toBe(it.commitOf(event) - 1)

        const last = it.events.filter((other) => other.task === task).length
        const repeated = await it.after((db) =>
          db
            .prepare(
              'INSERT INTO event SELECT task, ?, type, at, data, blob, hash FROM event WHERE task = ? AND seq = ?',
            )
            .run(last + 1, task, seq),
        )
        expect(places(repeated)).toEqual([placeOf({ task, seq: last + 1 })])

        const next = it.events.find((other) => other.task === task && other.seq === seq + 1)
        if (next === undefined) continue
        const swapped = await it.after((db) => {
          const put = db.prepare(
            'UPDATE event SET type = ?, at = ?, data = ?, blob = ?, hash = ? WHERE task = ? AND seq = ?',
          )
          put.run(next.type, next.at, next.data, next.blob, next.hash, task, seq)
          put.run(event.type, event.at, event.data, event.blob, event.hash, task, seq + 1)
        })
        expect(places(swapped)).toContain(placeOf(event))
        expect(swapped?.lastGood.commit).toBe(it.commitOf(event) - 1)
      }
    },
  )

  test('an edit with a chain that was made to fit it: the journal tells', { timeout: 120_000 }, async () => {
    const it = new Spoiled(await lived())
    for (const event of everyNth(it.events, draws(64, 16, 1))) {
      const found = await it.after((db) => forge(db, event))
      expect(found?.faults).toContainEqual(
        expect.objectContaining({ what: 'journal', where: `commit ${it.commitOf(event)}` }),
      )
      expect(found?.lastGood.commit).toBe(it.commitOf(event) - 1)
    }
  })

  test('each row of the journal, each column of it', { timeout: 300_000 }, async () => {
    const it = new Spoiled(await lived())
    for (let number = 1; number <= it.lastCommit; number++) {
      const edits = [
        `UPDATE journal SET at = at + 1 WHERE number = ${number}`,
        `UPDATE journal SET hash = zeroblob(32) WHERE number = ${number}`,
        `DELETE FROM journal WHERE number = ${number}`,
        `UPDATE journal SET number = number + 1000 WHERE number = ${number}`,
        `UPDATE journal SET touched = '[[1,1,1],[2,1,1],[3,1,1],[4,1,1]]' WHERE number = ${number}`,
        ...['', 'x', '[', '{}', '[1]', '[[1,1]]', '[[1,1,"1"]]', ' []', '[[1,1,0]]'].map(
          (text) => `UPDATE journal SET touched = '${text}' WHERE number = ${number}`,
        ),
      ]
      for (const sql of draws(
        everyNth(edits, edits.length * 32, number),
        everyNth(edits, 16, number),
        edits,
      )) {
        const found = await it.after((db) => db.exec(sql))
        expect({ sql, ok: found?.ok, good: found?.lastGood.commit }).toEqual({
          sql,
          ok: false,
          good: number - 1,
        })
      }
    }
  })
})

describe('any other edit', () => {
  const everyTable = async () => {
    const path = join(scratchFolder(), 'every-table.db')
    await live(path, publishAndReceive)
    return path
  }

  /** What constraints keep as it is as long as the other columns of its row stay. */
  const kept = ['budget.asked', 'circuit.state', 'stream.id', 'totals.id', 'wait.kind']

  // Of these two each row has tests of its own.
  const others = Object.keys(columns).filter((table) => table !== 'event' && table !== 'journal')
  for (const tables of draws<readonly (readonly string[])[]>([], [others]))
    test(
      'each column of each row is what its events say, or one of those that no event has',
      { timeout: 300_000 },
      async () => {
        const it = new Spoiled(await everyTable())
        const { silent, edited } = await editEach(it, tables)
        const known = Object.values(untold).flat()
        expect([...silent].filter((column) => !known.includes(column))).toEqual([])
        expect(new Set([...edited].map((column) => column.split('.')[0]))).toEqual(new Set(tables))
        if (!isWhole) return
        expect([...silent].toSorted()).toEqual(known.toSorted())
        const all = tables.flatMap((table) =>
          (namesOf(table as TableName) as readonly string[]).map((column) => `${table}.${column}`),
        )
        expect(all.filter((column) => !edited.has(column))).toEqual(kept)
      },
    )

  test(
    'each row of each table is missed, or it is one of those that no event has',
    { timeout: 300_000 },
    async () => {
      const it = new Spoiled(await everyTable())
      const silent = new Set<string>()
      for (const table of everyNth(Object.keys(columns), draws(8, 1))) {
        const keys = it.db
          .prepare<[], string>(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0`)
          .pluck()
          .all()
        const where = keys.map((key) => `${key} IS ?`).join(' AND ')
        const rows = it.db
          .prepare<[], unknown[]>(`SELECT ${keys.join(', ')} FROM ${table}`)
          .raw()
          .all()
        for (const row of draws(rows.slice(-1), everyNth(rows, 16), rows)) {
          const found = await it.after((db) => db.prepare(`DELETE FROM ${table} WHERE ${where}`).run(...row))
          if (found?.ok === true) silent.add(table === 'meta' ? `meta ${String(row[0])}` : table)
        }
      }
      expect([...silent].filter((table) => !(table in missable))).toEqual([])
      expect(silent.size).toBeGreaterThanOrEqual(draws(0, 0, Object.keys(missable).length))
    },
  )
})

for (const numRuns of draws<readonly number[]>([], [8], [25]))
  test(
    'the store of a random life is well, and any event of it that is edited is found',
    { timeout: 300_000 },
    async () => {
      let edited = 0
      const types = new Set<string>()
      await fc.assert(
        fc.asyncProperty(lifeOf([]), fc.nat(), async (list, seed) => {
          const path = join(scratchFolder(), 'it.db')
          const real = new Real((config, environment) =>
            openStore(`sqlite:${path}`, { config, environment, durability: 'normal' }),
          )
          await real.open()
          await fc.asyncModelRun(
            () => ({ model: new ReferenceModel(modelConfig, real.environment.clock.now()), real }),
            list,
          )
          await real.scene.store.close()
          expect(await verify(path)).toMatchObject(good)
          const it = new Spoiled(path)
          const event = it.events[seed % Math.max(1, it.events.length)]
          if (event === undefined) return
          edited += 1
          types.add(event.type)
          const found = await it.after((db) =>
            db
              .prepare('UPDATE event SET data = ? WHERE task = ? AND seq = ?')
              .run(changed(event.data), event.task, event.seq),
          )
          expect(places(found)).toContain(placeOf(event))
          expect(found?.lastGood.commit).toBe(it.commitOf(event) - 1)
        }),
        { numRuns, seed: 3 },
      )
      expect(edited).toBeGreaterThan(draws(4, 4, 15))
      expect(types.size).toBeGreaterThan(draws(2, 2, 4))
    },
  )
