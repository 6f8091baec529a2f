import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ExecutionStore, RuntimeError } from '@ku0/agent-runtime-core'
import { createVirtualEnvironment, type VirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { wrongWith } from '../../../agent-runtime-core/test/fuzz/told.ts'
import { inspectStore, openStore, verifyStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { config, live } from '../helpers/whole-life.ts'

/** Other garbage by FUZZ_SEED, more of it by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const runs = Number(process.env['FUZZ_RUNS'] ?? draws(1, 24, 30))

/** A column of a table that has rows. */
interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
}

/** One column of a store that somebody has overwritten, in one row or in all. */
interface Garbage extends Column {
  readonly row: number | 'all'
  readonly value: string | number | bigint | null | Buffer
}

const texts = [
  '',
  'garbage',
  '{',
  '[]',
  '{}',
  'null',
  '7',
  '"x"',
  '{"__proto__":{"x":1}}',
  '[[1,2],[3]]',
  '[1e999]',
]
const numbers = [-1, 0, 1, 99, 2 ** 31, Number.MAX_SAFE_INTEGER, 9_223_372_036_854_775_807n]
const bytes = [Buffer.alloc(0), Buffer.alloc(32, 7), Buffer.from('garbage')]

/** What a strict table lets into a column. */
function valuesFor(type: string): readonly Garbage['value'][] {
  if (type === 'TEXT') return texts
  if (type === 'BLOB') return bytes
  return type === 'REAL' ? [...numbers, 0.5, -1e300] : numbers
}

function garbageIn(columns: readonly Column[]): fc.Arbitrary<Garbage> {
  return fc.constantFrom(...columns).chain((column) =>
    fc.record({
      table: fc.constant(column.table),
      name: fc.constant(column.name),
      type: fc.constant(column.type),
      row: fc.oneof(fc.constant('all' as const), fc.nat(20)),
      value: fc.oneof(
        { weight: 9, arbitrary: fc.constantFrom(...valuesFor(column.type)) },
        { weight: 1, arbitrary: fc.constant(null) },
      ),
    }),
  )
}

function columnsOf(path: string): Column[] {
  const db = new Database(path)
  try {
    const tables = db
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .pluck()
      .all()
      .filter((table) => db.prepare(`SELECT 1 FROM "${table}" LIMIT 1`).get() !== undefined)
    return tables.flatMap((table) =>
      (db.pragma(`table_info('${table}')`) as { name: string; type: string }[]).map(({ name, type }) => ({
        table,
        name,
        type,
      })),
    )
  } finally {
    db.close()
  }
}

/** Overwrites it past every check; false for what not even that lets in. */
function overwrite(path: string, { table, name, row, value }: Garbage): boolean {
  const db = new Database(path)
  try {
    db.pragma('ignore_check_constraints = ON')
    db.pragma('foreign_keys = OFF')
    const rows = db.prepare<[], Record<string, unknown>>(`SELECT * FROM "${table}"`).all()
    if (row === 'all') db.prepare(`UPDATE OR IGNORE "${table}" SET "${name}" = ?`).run(value)
    else {
      const keys = (db.pragma(`table_info('${table}')`) as { name: string; pk: number }[]).filter(
        ({ pk }) => pk > 0,
      )
      const one = rows[row % rows.length] ?? {}
      const where = keys.map(({ name: key }) => `"${key}" IS ?`).join(' AND ')
      const key = keys.map(({ name: it }) => one[it])
      db.prepare(`UPDATE "${table}" SET "${name}" = ?${keys.length === 0 ? '' : ` WHERE ${where}`}`).run(
        value,
        ...key,
      )
    }
    return true
  } catch {
    return false
  } finally {
    db.close()
  }
}

/** Everything that a store is asked, and some of what it is told. */
async function useAll(
  store: ExecutionStore,
  environment: VirtualEnvironment,
  tell: (call: string, error: unknown) => void,
) {
  const attempt = async (call: string, made: () => Promise<unknown>) => {
    try {
      return await soon(environment, made())
    } catch (error) {
      tell(call, error)
      return undefined
    }
  }
  const read = (query: Parameters<ExecutionStore['read']>[0]) =>
    attempt(`read ${query.kind}`, () => store.read(query))
  const write = (operation: Parameters<ExecutionStore['write']>[0]) =>
    attempt(`write ${operation.kind}`, () => store.write(operation))
  await read({ kind: 'stats' })
  await read({ kind: 'waits' })
  await read({ kind: 'series', filter: {} })
  await read({ kind: 'workers' })
  await read({ kind: 'routes' })
  await read({ kind: 'swarms' })
  await read({ kind: 'schedules', filter: {} })
  await read({ kind: 'clients' })
  await read({ kind: 'approvals', limit: 10 })
  await read({ kind: 'budgets', limit: 10 })
  await read({ kind: 'reputation', agentId: 'agent' })
  await read({ kind: 'evaluations', agentId: 'agent', limit: 10 })
  const page = (await read({ kind: 'tasks', filter: {} })) as { tasks: { taskId: string }[] } | undefined
  const ids = page?.tasks.map(({ taskId }) => taskId) ?? []
  for (const taskId of ids.slice(0, 12)) {
    for (const kind of ['task', 'checkpoint', 'integrity', 'memos', 'leases', 'explain', 'budget'] as const)
      await read({ kind, taskId })
    for (const kind of ['events', 'output', 'steps'] as const)
      await read({ kind, taskId, after: 0, limit: 100 })
  }
  await write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1', idempotencyKey: 'k' }] })
  await write({
    kind: 'registerWorkers',
    workers: [{ workerId: 'new', capacity: 8, types: ['*', 'work', 'patient'] }],
  })
  store.demand('new', 8)
  environment.clock.advanceBy(120_000)
  await write({ kind: 'submit', tasks: [{ type: 'work', lane: 'batch', input: '1' }] })
  for (const taskId of ids.slice(0, 12)) {
    await write({ kind: 'signal', taskId, name: 'reply', value: '1' })
    await write({ kind: 'cancel', taskId })
    await write({ kind: 'fork', taskId, edits: {}, onlyOver: false, change: {} })
  }
}

/** An answer that never comes is no answer. */
async function soon<T>(environment: VirtualEnvironment, call: Promise<T>): Promise<T> {
  const state = { isOver: false }
  const over = call.finally(() => {
    state.isOver = true
  })
  over.catch(() => {})
  for (let turn = 0; turn < 40 && !state.isOver; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    // What failed is tried again after a while.
    if (turn > 2 && !state.isOver) environment.clock.advanceBy(60)
  }
  if (!state.isOver) throw new Error('it is never answered')
  return over
}

let looks = 0

/** What became of every call, and how many faults `verify` has found. */
async function lookAt(path: string) {
  const told: (readonly [call: string, error: unknown])[] = []
  const tell = (call: string, error: unknown) => void told.push([call, error])
  let faults = 0
  try {
    ;({ faultCount: faults } = await verifyStore(`sqlite:${path}`))
  } catch (error) {
    tell('verify', error)
  }
  await inspectStore(`sqlite:${path}`).catch((error: unknown) => tell('doctor', error))
  const environment = { ...createVirtualEnvironment(`garbage ${looks++}`), digest: nodeDigest }
  try {
    const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
    store.listen({ failed: (error) => tell('failed', error) })
    await useAll(store, environment, tell)
    await soon(environment, store.close())
  } catch (error) {
    tell('open', error)
  }
  return { told, faults }
}

describe('a store that holds garbage (docs/reliability.md 3.7)', () => {
  test('is used as far as it can be, and otherwise refused by name', { timeout: 120_000 }, async () => {
    const folder = scratchFolder()
    const whole = join(folder, 'whole.db')
    await live(whole)
    const columns = columnsOf(whole)
    let at = 0
    const counts = { written: 0, found: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(garbageIn(columns), async (it) => {
        const path = join(folder, `${at++}.db`)
        copyFileSync(whole, path)
        if (existsSync(`${whole}-anchor`)) copyFileSync(`${whole}-anchor`, `${path}-anchor`)
        if (!overwrite(path, it)) return
        const place = `${it.table}.${it.name} of ${it.row} = ${String(it.value)}`
        const { told, faults } = await lookAt(path)
        counts.written += 1
        if (faults > 0) counts.found += 1
        for (const [call, error] of told) {
          counts.refused += 1
          // Rows that do not go together stop a call at a check: that is no bug where verify tells of them.
          const isKnown = faults > 0 && (error as RuntimeError).code === 'internal'
          const wrong = isKnown ? undefined : wrongWith(error)
          if (wrong !== undefined) throw new Error(`${place}: ${call}: ${wrong}`)
        }
      }),
      { seed, numRuns: runs, endOnFailure: true },
    )
    expect(counts.written).toBeGreaterThan(runs / 2)
    // Two draws may meet a column of which nothing tells, and nothing that a call reads.
    expect(counts.found).toBeGreaterThan(draws(0, counts.written / 2))
    expect(counts.refused).toBeGreaterThan(draws(-1, 0))
  })

  test.each([
    ['stream', 'quota_keys', 'null', 'stats', 'stream.quota_keys holds null, which is no list'],
    ['schedule', 'definition', '7', 'schedules', 'schedule.definition holds 7, which is no object'],
    ['swarm', 'terms', '[]', 'swarms', 'swarm.terms holds [], which is no object'],
    ['event', 'data', 'null', 'tasks', 'event.data holds null, which is no object'],
    ['event', 'data', '{}', 'tasks', 'does not say with what'],
  ] as const)(
    'in %s.%s, %s: store_corrupt, with what is wrong and what to do',
    async (table, name, value, kind, what) => {
      const path = join(scratchFolder(), 'it.db')
      await live(path)
      expect(overwrite(path, { table, name, type: 'TEXT', row: 'all', value })).toBe(true)
      const environment = { ...createVirtualEnvironment('garbage'), digest: nodeDigest }
      const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
      const error: unknown = await store
        .read(kind === 'tasks' || kind === 'schedules' ? { kind, filter: {} } : { kind })
        .catch((caught: unknown) => caught)
      await store.close()
      expect(error).toMatchObject({ code: 'store_corrupt' })
      for (const part of [path, what, 'run verify', 'restore a backup'])
        expect((error as Error).message).toContain(part)
    },
  )

  test('that breaks a constraint is found out by verify, which only reads', async () => {
    const path = join(scratchFolder(), 'it.db')
    await live(path)
    const column = { table: 'swarm', name: 'spent_us', type: 'INTEGER', row: 'all', value: -1 } as const
    expect(overwrite(path, column)).toBe(true)
    expect((await verifyStore(`sqlite:${path}`)).faults).toEqual([
      { what: 'file', where: 'swarm', expected: 'every row with (spent_us >= 0)', actual: '1 without' },
    ])
  })

  test('that holds a number beyond all that could be added to is found out as well', async () => {
    const path = join(scratchFolder(), 'it.db')
    await live(path)
    const value = 9_223_372_036_854_775_807n
    const column = { table: 'swarm', name: 'spawned', type: 'INTEGER', row: 'all', value } as const
    expect(overwrite(path, column)).toBe(true)
    expect((await verifyStore(`sqlite:${path}`)).faults).toMatchObject([
      { what: 'file', where: 'swarm', expected: expect.stringContaining('(spawned BETWEEN ') as string },
    ])
  })

  test('no content of its anchor is a crash', async () => {
    const path = join(scratchFolder(), 'it.db')
    await live(path)
    const begun = readFileSync(`${path}-anchor`, 'latin1').slice(0, 40)
    const contents = ['', 'garbage', '{', '\0'.repeat(4_096), '7 '.repeat(100_000), `${begun}garbage`]
    for (const anchor of everyNth(contents, draws(3, 1), 2)) {
      writeFileSync(`${path}-anchor`, anchor)
      const { told } = await lookAt(path)
      expect(told.map(([call, error]) => [call, wrongWith(error)])).toEqual(
        told.map(([call]) => [call, undefined]),
      )
    }
  })
})
