import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type StoreError, type WriteKind } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { flushRank } from '@ku0/agent-runtime-core/transition'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { openStore } from '../../src/index.ts'
import { connectionOf } from '../helpers/connection-of.ts'
import { contents, contentsOf, leave } from '../helpers/contents.ts'
import { watchStatements } from '../fixtures/die-before.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'
import { deeds, settingsOfDeeds } from '../helpers/writes-of-every-kind.ts'

const { config } = parseExecutionConfig(settingsOfDeeds)

/** Called before each statement that may write, of every store here. */
let watch: ((sql: string) => void) | undefined
let isWatched = false

async function openScene(path: string, seed: string): Promise<Scene> {
  const environment = { ...createVirtualEnvironment(seed), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
  const db = connectionOf(store)
  // With no room in memory changes go to the log before their commit.
  db.pragma('cache_size = 1')
  // What a process leaves that is killed does not hang on what the disk has.
  db.pragma('synchronous = 0')
  if (!isWatched) watchStatements(store, (sql) => watch?.(sql))
  isWatched = true
  return new Scene(store, config, environment.clock, { digest: nodeDigest })
}

async function watched<T>(before: (sql: string) => void, body: () => Promise<T>): Promise<T> {
  watch = before
  try {
    return await body()
  } finally {
    watch = undefined
  }
}

const seenBy = ({ store }: Scene) => contentsOf(connectionOf(store))

/** A commit that changes nothing has a row of the journal, too. */
const withoutJournal = (found: string) =>
  (JSON.parse(found) as [table: string, rows: unknown][]).filter(([table]) => table !== 'journal')

/** All that can run comes to its end, a new task too; what waits can be canceled; and nothing contradicts anything, as `verifyStore` says, too. */
async function goesOn(scene: Scene, path: string): Promise<void> {
  await scene.worker('again', 30)
  const fresh = await scene.accepted({ type: 'fresh' })
  const settled = new Set<string>()
  for (let turn = 0; turn < 4; turn += 1) {
    // By then the dead are missed.
    await scene.pass(600)
    for (const claim of scene.claims) {
      if (settled.has(claim.leaseId)) continue
      settled.add(claim.leaseId)
      await scene.settle(claim)
      scene.free(claim.workerId)
    }
  }
  expect(await scene.state(fresh)).toBe('completed')
  const { tasks } = await scene.read({ kind: 'tasks', filter: { states: ['running', 'waiting'] } })
  for (const { taskId } of tasks) expect(await scene.cancel(taskId)).toMatchObject({ canceled: true })
  expect(await scene.violations()).toEqual([])
  await scene.store.close()
  await assertClosedStore(path, config)
}

/** The files of a store whose process is killed now, its lock among them, which nobody holds any more. */
function leaveDead({ store }: Scene, path: string, folder: string): string {
  const copy = leave(path, folder)
  mkdirSync(`${copy}-owners`)
  writeFileSync(join(`${copy}-owners`, `${store.info.processId}.lock`), '')
  return copy
}

const isSame = (a: string, b: string) =>
  ['', '-wal', '-anchor'].every((suffix) => readFileSync(a + suffix).equals(readFileSync(b + suffix)))

/** Of the places in a flush a landing takes every fourth. */
const nth = draws(4, 4, 1)

/** All of them: no other kind has a rank. */
const kinds = Object.keys(flushRank) as readonly WriteKind[]

test.each(kinds)(
  'A18 a write whose flush ends before any of its statements is there as a whole or not at all, and the store goes on: %s',
  async (kind) => {
    const folder = scratchFolder()
    const path = join(folder, 'whole.db')
    const scene = await openScene(path, 'life')
    const { write, answer } = await deeds[kind](scene)
    const old = seenBy(scene)
    const dead: string[] = []
    const die = () => void dead.push(leaveDead(scene, path, join(folder, `${dead.length}`)))
    const given = await watched(die, () => scene.write(write))
    const done = seenBy(scene)
    die()
    expect({ given }).toMatchObject({ given: answer })
    expect(withoutJournal(done)).not.toEqual(withoutJournal(old))
    expect(dead.length).toBeGreaterThan(4)
    await scene.store.close()

    // It dies: what its process leaves is opened by another.
    const last = dead.length - 1
    // Nothing went to the files between one and an equal next.
    const left = [...dead.entries()].filter(([n, it]) => n === last || !isSame(it, dead[n + 1] ?? ''))
    // The last is always among them.
    for (const [n, it] of everyNth(left, nth, left.length - 1)) {
      const isOver = n === last
      const found = leave(it, join(folder, `found ${n}`))
      expect([n, contents(found) === (isOver ? done : old)]).toEqual([n, true])
      await goesOn(await openScene(it, 'heir'), it)
    }

    // It fails: its own process, which lives on, tries again.
    const failing = join(folder, 'failing.db')
    const patient = await openScene(failing, 'life')
    await deeds[kind](patient)
    for (let n = 1; n < last; n += nth) {
      let before = n
      const fail = () => {
        before -= 1
        if (before === -1) throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
      }
      const refusal = await watched(fail, () =>
        patient.write(write).then(
          () => 'none',
          ({ code }: StoreError) => code,
        ),
      )
      expect([n, refusal, seenBy(patient) === old]).toEqual([n, 'store_full', true])
    }
    expect(await patient.write(write)).toEqual(given)
    expect(seenBy(patient)).toBe(done)
    await goesOn(patient, failing)
  },
)
