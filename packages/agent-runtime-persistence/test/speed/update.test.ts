import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { Statements } from '../../src/sqlite/statements.ts'
import { prepareUpdate } from '../../src/sqlite/update.ts'

/** Twenty rows at version 1, and what raises the version of some. */
function opened() {
  const db = new Database(':memory:')
  onTestFinished(() => void db.close())
  db.exec('CREATE TABLE thing (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, name TEXT, mark TEXT)')
  for (let id = 1; id <= 20; id++) db.prepare("INSERT INTO thing VALUES (?, 1, NULL, 'old')").run(id)
  const update = prepareUpdate(new Statements(db), {
    table: 'thing',
    set: { version: '?', mark: 'NULL', name: '?' },
    where: { id: '?', version: '1' },
    missed: ([, name, id]) => new Error(`${String(name)}: thing ${String(id)} was not at 1`),
  })
  const all = () => db.prepare('SELECT id, version, name, mark FROM thing ORDER BY id').raw().all()
  return { db, update, all }
}

test('every row is written, whether or not they fill a statement, and no other', () => {
  const { update, all } = opened()
  for (let id = 1; id <= 19; id++) update.add(2, `n${id}`, id)
  expect(all().filter((row) => (row as unknown[])[1] === 2)).toHaveLength(16)
  update.flush()
  expect(all()).toEqual([
    ...Array.from({ length: 19 }, (_, n) => [n + 1, 2, `n${n + 1}`, null]),
    [20, 1, null, 'old'],
  ])
})

test.each([1, 4, 8])('a row of eight that is wrong is named: row %i', (id) => {
  const { db, update } = opened()
  db.prepare('UPDATE thing SET version = 7 WHERE id = ?').run(id)
  const addAll = () => {
    for (let row = 1; row <= 8; row++) update.add(2, 'n', row)
  }
  expect(addAll).toThrow(`n: thing ${id} was not at 1`)
})

test('a row that is gone is named, and so is one that is written alone', () => {
  const { db, update } = opened()
  db.exec('DELETE FROM thing WHERE id = 3; UPDATE thing SET version = 7 WHERE id = 10')
  update.add(2, 'n', 9)
  update.add(2, 'n', 10)
  expect(() => update.flush()).toThrow('n: thing 10 was not at 1')
  const addAll = () => {
    for (let row = 1; row <= 8; row++) update.add(2, 'n', row)
  }
  expect(addAll).toThrow('n: thing 3 was not at 1')
})

test('a dropped row is not written', () => {
  const { update, all } = opened()
  update.add(2, 'n', 1)
  update.drop()
  update.flush()
  expect(all()[0]).toEqual([1, 1, null, 'old'])
})
