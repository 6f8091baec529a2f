import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Client, createClient, createPool, type PoolChange } from '../../src/index.ts'
import { eventually, folder, isAlive, run } from '../real-processes.ts'
import { apart, codecs, inline, Money } from './programs/coded-tasks.ts'
import { note, slow, stuck } from './programs/tasks.ts'

const module = new URL('./programs/tasks.ts', import.meta.url)
const quiet = { logger: false } as const

/** Resolves with the first change that fits. */
function change(
  pool: { on(listener: (it: PoolChange) => void): Disposable },
  fits: (it: PoolChange) => boolean,
) {
  return new Promise<PoolChange>((found) => {
    const listening = pool.on((it) => {
      if (!fits(it)) return
      listening[Symbol.dispose]()
      found(it)
    })
  })
}

describe('a pool of worker processes (docs/semantics.md 8.1-8.3)', { timeout: 300_000 }, () => {
  test('its workers have the codecs that the module exports, and run isolated types of the module', async () => {
    const store = `sqlite:${join(folder(), 'it.db')}`
    await using client = await createClient({ store, codecs, ...quiet })
    const coded = new URL('./programs/coded-tasks.ts', import.meta.url)
    await using _ = await createPool({ store, module: coded, max: 1, ...quiet })
    for (const task of [inline, apart])
      expect(await client.result(await client.submit(task, new Money(21)))).toEqual(new Money(42))
  })

  test('3.2 a pool for some lanes runs no task of another lane, and does not grow for it', async () => {
    const path = folder()
    const store = `sqlite:${join(path, 'it.db')}`
    const [file, go] = [join(path, 'notes'), join(path, 'go')]
    writeFileSync(go, '')
    await using client = await createClient({ store, ...quiet })
    await client.submitMany(Array.from({ length: 20 }, (_, n) => ({ task: note, input: { file, n, go } })))
    await using pool = await createPool({
      store,
      module,
      lanes: ['batch'],
      growAt: 5,
      everyMs: 20,
      ...quiet,
    })
    const batch = await client.submit(note, { file, n: 20, go }, { lane: 'batch' })
    await client.result(batch)
    // The pool has looked at the queue again and again since.
    expect(await client.stats()).toMatchObject({ depth: { normal: 20 }, totals: { completed: 1 } })
    expect(pool.stats().totalWorkers).toBe(1)
    expect((await client.workers())[0]).toMatchObject({ lanes: ['batch'] })
    await expect(createPool({ store, module, lanes: ['fast' as never] })).rejects.toThrow(
      'lanes: a list of interactive, normal, batch',
    )
  })

  test('8.1 a burst of 200 tasks and silence: it grows to max, loses nothing, and shrinks to min', async () => {
    const path = folder()
    const store = `sqlite:${join(path, 'it.db')}`
    const file = join(path, 'notes')
    const go = join(path, 'go')
    await using client = await createClient({ store, ...quiet })
    await using pool = await createPool({
      store,
      module,
      capacity: 2,
      max: 4,
      everyMs: 200,
      idleMs: 500,
      ...quiet,
    })
    const sizes = new Set<number>([pool.stats().totalWorkers])
    const grown = change(pool, ({ size }) => size === 4)
    const shrunk = change(pool, ({ type, size }) => {
      sizes.add(size)
      return type === 'worker.stopped' && pool.stats().totalWorkers === 1
    })
    const receipts = await client.submitMany(
      Array.from({ length: 200 }, (_, n) => ({ task: note, input: { file, n, go } })),
    )
    await grown
    writeFileSync(go, '')
    const pids = new Set(await Promise.all(receipts.map((receipt) => client.result(receipt))))
    await shrunk
    expect([...sizes].toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4])
    expect(pids.size).toBeGreaterThan(1)
    const noted = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => Number(line.split(' ')[0]))
    expect(noted.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, n) => n))
    expect(pool.stats()).toMatchObject({ totalWorkers: 1, totalFailed: 0 })
    expect(pool.stats().totalCompleted).toBe(200)
  })

  test('8.2 a burst of 200 tasks while worker after worker is killed: each is replaced, and nothing is lost', async () => {
    const path = folder()
    const store = `sqlite:${join(path, 'it.db')}`
    const file = join(path, 'notes')
    await using client = await createClient({ store, ...quiet })
    await using pool = await createPool({
      store,
      module,
      capacity: 2,
      max: 4,
      everyMs: 200,
      idleMs: 500,
      ...quiet,
    })
    let died = 0
    pool.on(({ type }) => void (died += type === 'worker.died' ? 1 : 0))
    const killed = new Set<number>()
    let completed = 0
    using _ = client.on('task.completed', () => {
      completed += 1
      const pid = Number(
        read(file)
          .findLast((line) => line !== '')
          ?.split(' ')[1],
      )
      if (killed.size >= Math.floor(completed / 12) || killed.has(pid)) return
      killed.add(pid)
      process.kill(pid, 'SIGKILL')
    })
    const receipts = await client.submitMany(
      Array.from({ length: 200 }, (_it, n) => ({ task: slow, input: { file, n } })),
    )
    await Promise.all(receipts.map((receipt) => client.result(receipt)))
    // A worker may be killed just before the last result.
    await eventually(() => died >= killed.size)
    expect(died).toBe(killed.size)
    // More than the deaths after which a pool gives up, if its workers had done nothing.
    expect(killed.size).toBeGreaterThan(10)
    const noted = read(file).flatMap((line) => (line === '' ? [] : [Number(line.split(' ')[0])]))
    expect(new Set(noted).size).toBe(200)
    // A step that a kill cut off after its line was written runs again: one for each slot of a killed worker, at the most.
    expect(noted.length).toBeLessThanOrEqual(200 + 2 * killed.size)
  })

  test('8.2 a worker that is killed is replaced, and its task goes on in another process', async () => {
    const path = folder()
    const store = `sqlite:${join(path, 'it.db')}`
    const file = join(path, 'notes')
    await using client = await createClient({ store, ...quiet })
    await using pool = await createPool({ store, module, min: 2, max: 2, capacity: 1, ...quiet })
    const receipt = await client.submit(note, { file, n: 1, go: file })
    await client.result(receipt)
    for (let round = 1; round <= 2; round++) {
      const blocked = await client.submit(stuck, { file })
      await untilNoted(file, round, 'stuck')
      const [, pid] = readFileSync(file, 'utf8').trim().split('\n').at(-1)?.split(' ') ?? []
      const replaced = change(pool, ({ type }) => type === 'worker.started')
      const died = change(pool, ({ type }) => type === 'worker.died')
      process.kill(Number(pid), 'SIGKILL')
      expect(await died).toMatchObject({ how: 'SIGKILL', size: 1 })
      expect(await replaced).toMatchObject({ size: 2, why: 'below_min' })
      await client.cancel(blocked)
    }
    expect(pool.stats().totalWorkers).toBe(2)
    const after = await client.submit(note, { file, n: 2, go: file })
    expect(await client.result(after)).toBeGreaterThan(0)
  })

  test('8.2 a stop without drain gives the tasks back, and they run in the next pool', async () => {
    const path = folder()
    const store = `sqlite:${join(path, 'it.db')}`
    const file = join(path, 'notes')
    await using client = await createClient({ store, ...quiet })
    const pool = await createPool({ store, module, ...quiet })
    const receipt = await client.submit(stuck, { file })
    await untilNoted(file, 1, 'stuck')
    const changes: string[] = []
    using _ = pool.on(({ type }) => changes.push(type))
    expect(await pool.stop({ drain: false })).toEqual({ drained: false, released: 1 })
    expect((await client.status(receipt))?.state).toBe('queued')
    expect(pool.stats().totalWorkers).toBe(0)
    expect(changes).toEqual(['worker.draining', 'worker.stopped'])
  })

  test('8.2 a pool with signals ends its tasks and its process on SIGTERM', async () => {
    const path = folder()
    const store = `sqlite:${join(path, 'it.db')}`
    const [file, go] = [join(path, 'notes'), join(path, 'go')]
    await using client = await createClient({ store, ...quiet })
    const program = run(new URL('./programs/pool.ts', import.meta.url), store)
    await program.said('ready')
    const { receipt, pid } = await running(client, { file, n: 1, go })
    process.kill(program.pid, 'SIGTERM')
    writeFileSync(go, '')
    expect(await client.result(receipt)).toBe(pid)
    await untilGone(program.pid)
    expect(await client.workers()).toEqual([])
  })

  test('8.2 SIGTERM lets a worker end its task, and the pool replaces it', async () => {
    const path = folder()
    const store = `sqlite:${join(path, 'it.db')}`
    const [file, go] = [join(path, 'notes'), join(path, 'go')]
    await using client = await createClient({ store, ...quiet })
    await using pool = await createPool({ store, module, ...quiet })
    const receipt = await client.submit(note, { file, n: 1, go })
    await untilNoted(file, 1, '1 ')
    const pid = Number(read(file)[0]?.split(' ')[1])
    // It takes no more from here on, as its pool hears, and is replaced all the same.
    const [workerId = ''] = Object.keys(pool.stats().workers)
    const draining = change(pool, ({ type }) => type === 'worker.draining')
    expect(await client.drainWorker(workerId)).toBe(1)
    expect(await draining).toMatchObject({ workerId, size: 1, why: 'asked from outside' })
    expect(pool.stats().workers[workerId]).toMatchObject({ status: 'draining', inFlight: 1 })
    const left = change(pool, ({ type }) => type === 'worker.died')
    const replaced = change(pool, ({ type }) => type === 'worker.started')
    process.kill(pid, 'SIGTERM')
    writeFileSync(go, '')
    expect(await client.result(receipt)).toBe(pid)
    expect(await left).toMatchObject({ how: 'exit code 0' })
    expect(await replaced).toMatchObject({ size: 1 })
  })

  test('8.2 workers whose pool was killed end their tasks and leave', async () => {
    const path = folder()
    const store = `sqlite:${join(path, 'it.db')}`
    const [file, go] = [join(path, 'notes'), join(path, 'go')]
    await using client = await createClient({ store, ...quiet })
    const program = run(new URL('./programs/pool.ts', import.meta.url), store)
    await program.said('ready')
    const { receipt, pid } = await running(client, { file, n: 1, go })
    process.kill(program.pid, 'SIGKILL')
    await untilGone(program.pid)
    writeFileSync(go, '')
    expect(await client.result(receipt)).toBe(pid)
    await untilGone(pid)
    expect(await client.workers()).toEqual([])
  })

  test('8.2 the error that keeps the first worker from starting is the error of createPool', async () => {
    const store = `sqlite:${join(folder(), 'it.db')}`
    const broken = new URL('./programs/broken.ts', import.meta.url)
    const opened = createPool({ store, module: broken, ...quiet })
    await expect(opened).rejects.toThrow('this module cannot be loaded')
  })

  test('8.1 options that cannot be a pool are refused by name', async () => {
    const open = (options: object) => createPool({ store: 'sqlite:it.db', module, ...options })
    await expect(open({ store: 'sqlite::memory:' })).rejects.toThrow('store: the URL of a store that several')
    await expect(open({ module: './tasks.ts' })).rejects.toThrow('module: the file: URL or the absolute path')
    await expect(open({ min: 3, max: 2 })).rejects.toThrow('min: at most max, which is 2; given 3')
  })
})

/** A task that runs until the file `go` is there, and the process that runs it. */
async function running(
  client: Client,
  it: { readonly file: string; readonly n: number; readonly go: string },
) {
  const receipt = await client.submit(note, it)
  await untilNoted(it.file, 1, `${it.n} `)
  return { receipt, pid: Number(read(it.file)[0]?.split(' ')[1]) }
}

/** Resolves when so many lines begin with a word. */
function untilNoted(file: string, count: number, word: string): Promise<void> {
  return eventually(() => read(file).filter((line) => line.startsWith(word)).length >= count)
}

/** Resolves when there is no such process. */
function untilGone(pid: number): Promise<void> {
  return eventually(() => !isAlive(pid))
}

function read(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}
