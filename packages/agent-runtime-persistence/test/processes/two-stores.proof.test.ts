import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { slowness } from '../../../../tools/cpu/slowness.ts'
import { twoProcesses } from '../helpers/two-processes.ts'

describe('two processes on one file (docs/semantics.md 4.7, 4.10, 5.7)', () => {
  test('D01 heartbeats go on as soon as the lock is free: a lock held for less than the TTL costs nobody a lease', async () => {
    const [{ scene: a }] = await twoProcesses()
    await a.worker('a', 1)
    await a.accepted()
    const claim = await a.claim()
    const intruder = new Database(a.store.info.location)
    intruder.exec('BEGIN IMMEDIATE')
    await a.pass(20_000)
    intruder.exec('ROLLBACK')
    intruder.close()
    await a.pass(20_000)
    expect(a.notices).toEqual([])
    expect(await a.settle(claim)).toBe('ok')
  })

  test('D01 a write waits while another holds the lock, without blocking the process, and is done after', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    const intruder = new Database(a.store.info.location)
    intruder.exec('BEGIN IMMEDIATE')
    const started = performance.now()
    let done = false
    const written = a.store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    void written.then(() => (done = true))
    await a.pass(200)
    expect(done).toBe(false)
    expect(await b.depth()).toBe(0)
    expect((performance.now() - started) / slowness()).toBeLessThan(5_000)
    intruder.exec('ROLLBACK')
    expect(await a.settled(written)).toMatchObject([{ accepted: true }])
    intruder.close()
  })

  test('D01 after ten seconds it gets store_busy, and nothing of it is done; the next is done', async () => {
    const [{ scene: a }] = await twoProcesses()
    const intruder = new Database(a.store.info.location)
    intruder.exec('BEGIN IMMEDIATE')
    let told: unknown
    a.store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] }).then(
      () => (told = 'done'),
      (error: { code: string }) => (told = error.code),
    )
    await a.pass(9_900)
    expect(told).toBeUndefined()
    await a.pass(200)
    expect(told).toBe('store_busy')
    intruder.exec('ROLLBACK')
    intruder.close()
    await a.pass(1_000)
    expect(await a.depth()).toBe(0)
    expect(await a.submit()).toMatchObject({ accepted: true, sequence: 1 })
    expect(a.failures).toEqual([])
  })

  test('D01 a call that comes while the lock is held waits ten seconds of its own', async () => {
    const [{ scene: a }] = await twoProcesses()
    const intruder = new Database(a.store.info.location)
    intruder.exec('BEGIN IMMEDIATE')
    const told: string[] = []
    const submit = (name: string) =>
      void a.store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] }).then(
        () => told.push(`${name} done`),
        (error: { code: string }) => told.push(`${name} ${error.code}`),
      )
    submit('first')
    await a.pass(9_000)
    submit('second')
    await a.pass(2_000)
    expect(told).toEqual(['first store_busy'])
    submit('third')
    await a.pass(7_900)
    expect(told).toEqual(['first store_busy'])
    await a.pass(200)
    expect(told).toEqual(['first store_busy', 'second store_busy'])
    intruder.exec('ROLLBACK')
    intruder.close()
    await a.pass(100)
    expect(told).toEqual(['first store_busy', 'second store_busy', 'third done'])
    expect(await a.depth()).toBe(1)
  })

  test('J06 a process that is stopped in a transaction keeps everybody waiting, loses nobody a task, and goes on', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await b.worker('b', 1)
    await b.accepted()
    const claim = await b.claim()
    const path = a.store.info.location
    const holder = spawn(process.execPath, [join(import.meta.dirname, '../fixtures/hold-lock.ts'), path], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void holder.kill('SIGKILL'))
    const ended = once(holder, 'close')
    await once(holder.stdout, 'data')
    holder.kill('SIGSTOP')
    const told = a.submit().then(
      () => 'done',
      (error: { code: string }) => error.code,
    )
    const settled = b.settle(claim).then(
      () => 'done',
      (error: { code: string }) => error.code,
    )
    await a.pass(11_000)
    expect(await Promise.all([told, settled])).toEqual(['store_busy', 'store_busy'])
    // Reads go on beside it.
    expect(await a.depth()).toBe(0)

    holder.kill('SIGCONT')
    holder.stdin.end()
    expect(await ended).toEqual([0, null])
    await a.pass(1_000)
    expect(await a.submit()).toMatchObject({ accepted: true })
    expect(await b.settle(claim)).toBe('ok')
    const db = new Database(path, { readonly: true })
    expect(db.prepare("SELECT value FROM meta WHERE key = 'held'").pluck().get()).toBe('1')
    db.close()
  })

  test('B07 a holder that cannot renew learns it before another could start the task, and the lease is renewed no more', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await a.worker('a', 1)
    const taskId = await a.accepted()
    const claim = await a.claim()
    const intruder = new Database(a.store.info.location)
    intruder.exec('BEGIN IMMEDIATE')
    await a.pass(claim.expiresAt - a.now - 2_000)
    expect(a.notices).toMatchObject([{ leaseId: claim.leaseId, taskId, verdict: 'lost' }])
    intruder.exec('ROLLBACK')
    intruder.close()

    // Its handler was told to stop. Were the lease renewed now, nobody would ever end it.
    await b.worker('b', 1)
    await b.pass(40_000)
    expect(b.claims).toMatchObject([{ taskId, attempt: 2 }])
  })

  test('T5 a look around does not drop the locks of this process: another cannot get in', async () => {
    const [{ scene: a }] = await twoProcesses()
    const holder = new Database(a.store.info.location)
    holder.exec("BEGIN IMMEDIATE; INSERT INTO meta (key, value) VALUES ('mine', '1')")
    await a.pass(3_000)
    await a.stats()
    const other = spawnSync(
      process.execPath,
      [join(import.meta.dirname, '../fixtures/try-lock.ts'), a.store.info.location],
      {
        encoding: 'utf8',
      },
    )
    expect([other.stdout.trim(), other.stderr]).toEqual(['SQLITE_BUSY', ''])
    holder.exec('COMMIT')
    expect(holder.prepare("SELECT value FROM meta WHERE key = 'mine'").pluck().get()).toBe('1')
    holder.close()
    await a.pass(1_000)
  })

  test('B02 a process that wakes while another runs its task: one live lease, and one memo, of who holds it', async () => {
    const [first, { scene: b }] = await twoProcesses()
    const { scene: a } = first
    await a.worker('a', 1)
    const taskId = await a.accepted()
    const zombie = await a.claim()
    await b.worker('b', 1)
    first.stop()
    await b.pass(31_000)
    const holder = await b.claim()
    first.wake()
    // Both have run the step that was in flight.
    expect(await a.step(zombie, 'one', '"of the zombie"')).toEqual({ fenced: 'stale' })
    expect(await b.step(holder, 'one', '"of the holder"')).toEqual({ fenced: 'ok' })
    const all = await b.read({ kind: 'leases', taskId })
    expect(all.filter(({ status }) => status === 'running')).toMatchObject([{ leaseId: holder.leaseId }])
    expect(await a.steps(taskId)).toMatchObject([{ key: 'one', result: '"of the holder"' }])
    expect(a.notices).toMatchObject([{ leaseId: zombie.leaseId, verdict: 'lost' }])
    expect(await b.settle(holder)).toBe('ok')
  })
})
