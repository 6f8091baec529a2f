import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Claim } from '@ku0/agent-runtime-core'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { scaledMs, slowness } from '../../../../tools/cpu/slowness.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { clean, OwnStore } from '../helpers/own-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const task = { type: 'work', lane: 'normal', input: '1' } as const

describe('real processes on one file (docs/semantics.md 4.9, 4.10, docs/reliability.md A, J)', () => {
  test('4.10 a killed process’s tasks start again at once, not after the TTL: owner_dead, attempt + 1', async () => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path)
    const tasks = await own.submit(3)
    const child = await ChildStore.open({ path, worker: { workerId: 'c', capacity: 3 } })
    await child.heard(({ claimed }) => claimed !== undefined, 3)
    const [first] = child.claims
    child.send({
      kind: 'recordStep',
      leaseId: first?.leaseId ?? '',
      key: 'a',
      position: 0,
      durationMs: 1,
      result: '"c"',
    })
    await child.heard(({ answer }) => answer !== undefined)
    own.store.interest({ types: ['lease.expired'], tasks: [] })
    await own.worker('w', 3)
    const killedAt = performance.now()
    await child.kill()
    await own.until(() => own.claims.length === 3, 'three tasks')
    expect((performance.now() - killedAt) / slowness()).toBeLessThan(10_000)
    expect(
      own.claims.map(({ taskId, attempt, crashes, fencingToken }) => [
        taskId,
        attempt,
        crashes,
        fencingToken,
      ]),
    ).toEqual(tasks.map((taskId) => [taskId, 2, 1, 2]))
    expect(own.claims.find(({ taskId }) => taskId === first?.taskId)).toMatchObject({ steps: 1 })
    for (const taskId of tasks) {
      const [lease] = await own.store.read({ kind: 'leases', taskId })
      expect(lease).toMatchObject({ status: 'failed', endReason: 'owner_dead', workerId: 'c' })
    }
    expect(own.events.map(({ data }) => (JSON.parse(data) as { reason: string }).reason)).toEqual([
      'owner_dead',
      'owner_dead',
      'owner_dead',
    ])
    expect((await own.store.read({ kind: 'workers' })).map(({ workerId }) => workerId)).toEqual(['w'])
    for (const claim of own.claims) expect(await own.complete(claim)).toBe('ok')
    await clean(own, path)
  })

  test('4.10 also when nobody was there to see: whoever opens the store next takes over', async () => {
    const path = join(scratchFolder(), 'it.db')
    const child = await ChildStore.open({ path, worker: { workerId: 'c', capacity: 1 } })
    child.send({ kind: 'submit', tasks: [task] })
    await child.heard(({ claimed }) => claimed !== undefined)
    await child.kill()
    const own = await OwnStore.open(path)
    await own.worker('w', 1)
    await own.until(() => own.claims.length === 1, 'the task')
    expect(own.claims[0]).toMatchObject({ attempt: 2, crashes: 1, taskId: child.claims[0]?.taskId })
    expect(await own.complete(own.claims[0] as Claim)).toBe('ok')
    await clean(own, path)
  })

  test('A20 C17 a task that kills its process every time is failed as poisoned at the fifth', async () => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path)
    const [taskId = ''] = await own.submit(1)
    own.store.interest({ types: ['task.requeued', 'task.failed'], tasks: [] })
    for (let death = 1; death <= 5; death++) {
      const child = await ChildStore.open({ path, worker: { workerId: `c${death}`, capacity: 1 } })
      await child.heard(({ claimed }) => claimed !== undefined)
      expect(child.claims).toMatchObject([{ taskId, attempt: death, crashes: death - 1 }])
      await child.kill()
      await own.until(() => own.events.length === death, `death ${death}`)
    }
    expect(await own.store.read({ kind: 'task', taskId })).toMatchObject({
      state: 'failed',
      kind: 'poisoned',
      crashes: 5,
    })
    await clean(own, path)
  })

  test('4.10, B01 a stopped process is not gone: its lease runs out, and what it says when it wakes is stale', async () => {
    const config = { leaseTtlMs: 5_000, heartbeatIntervalMs: 500 }
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path, config)
    const [taskId = ''] = await own.submit(1)
    const child = await ChildStore.open({ path, config, worker: { workerId: 'c', capacity: 1 } })
    await child.heard(({ claimed }) => claimed !== undefined)
    const [claim] = child.claims
    child.signal('SIGSTOP')
    const stoppedAt = performance.now()
    await own.worker('w', 1)
    await own.until(() => own.claims.length === 1, 'the task')
    // Its last heartbeat was an interval before it was stopped, or a little more on a busy machine.
    expect(performance.now() - stoppedAt).toBeGreaterThan(2_500)
    const [lease] = await own.store.read({ kind: 'leases', taskId })
    expect(lease).toMatchObject({ status: 'failed', endReason: 'expired' })
    expect(await own.complete(own.claims[0] as Claim)).toBe('ok')

    child.send({
      kind: 'settle',
      leaseId: claim?.leaseId ?? '',
      settlement: { as: 'completed', output: '"late"' },
    })
    child.send({
      kind: 'recordStep',
      leaseId: claim?.leaseId ?? '',
      key: 'a',
      position: 0,
      durationMs: 1,
      result: '1',
    })
    child.signal('SIGCONT')
    await child.heard(({ noticed }) => noticed !== undefined)
    await child.heard(({ answer }) => answer !== undefined, 2)
    expect(child.lines.flatMap(({ answer }) => (answer === undefined ? [] : [answer]))).toEqual([
      'stale',
      { fenced: 'stale' },
    ])
    expect(child.lines.find(({ noticed }) => noticed !== undefined)?.noticed).toMatchObject({
      leaseId: claim?.leaseId,
      verdict: 'lost',
      // Told by the other's sweep, or by itself where the other holds the lock just then.
      reason: expect.stringMatching(/^(expired|not renewed)$/) as string,
    })
    expect(await own.store.read({ kind: 'task', taskId })).toMatchObject({
      state: 'completed',
      output: '"own"',
    })
    expect(await child.end()).toBe(0)
    await clean(own, path, config)
  })

  test('5.7 a cancel reaches another process in less than a second', async () => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path)
    const [taskId = ''] = await own.submit(1)
    const child = await ChildStore.open({ path, worker: { workerId: 'c', capacity: 1 } })
    await child.heard(({ claimed }) => claimed !== undefined)
    const ms = await scaledMs(async () => {
      await own.store.write({ kind: 'cancel', taskId, reason: 'enough' })
      await child.heard((line) => line.noticed !== undefined)
    })
    expect(ms).toBeLessThan(1_000)
    expect(child.lines.find((line) => line.noticed !== undefined)?.noticed).toMatchObject({
      taskId,
      verdict: 'canceled',
    })
    expect(await child.end()).toBe(0)
    await clean(own, path)
  })

  test('J01 four processes and 200 tasks: each is claimed once and completed once', async () => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path)
    own.store.interest({ types: ['task.completed'], tasks: [] })
    const children = await Promise.all(
      Array.from({ length: 4 }, (_, n) =>
        ChildStore.open({ path, settles: true, worker: { workerId: `c${n}`, capacity: 4 } }),
      ),
    )
    for (let batch = 0; batch < 20; batch++) await own.submit(10)
    await own.until(() => own.events.length >= 200, '200 completions')
    for (const child of children) {
      expect(child.errors).toEqual([])
      expect(await child.end()).toBe(0)
    }
    const claimed = children.flatMap((child) => child.claims.map(({ sequence }) => sequence))
    expect(claimed.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1))
    expect(own.events).toHaveLength(200)
    expect(own.events.every(({ elsewhere }) => elsewhere === true)).toBe(true)
    await clean(own, path)
  })

  test('J02 four submit, four work, one of them dies, one cancels and looks at everything: nobody is turned away, nothing is lost', async () => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path)
    own.store.interest({ types: ['task.completed', 'task.canceled'], tasks: [] })
    const doomed = await ChildStore.open({ path, worker: { workerId: 'doomed', capacity: 2 } })
    await own.submit(2)
    await doomed.heard(({ claimed }) => claimed !== undefined, 2)
    const submitters = await Promise.all([0, 1, 2].map(() => ChildStore.open({ path })))
    const workers = await Promise.all(
      [0, 1].map((n) => ChildStore.open({ path, settles: true, worker: { workerId: `c${n}`, capacity: 2 } })),
    )
    await own.worker('own', 2)
    for (let n = 0; n < 40; n++)
      for (const [who, child] of submitters.entries())
        child.send({ kind: 'submit', tasks: [{ ...task, idempotencyKey: `${who} ${n}` }] })
    const mine = [...(await own.submit(38))]
    await doomed.kill()
    let settled = 0
    for (let ended = 0; ended < 160; ended = own.events.length) {
      const taskId = mine.pop()
      if (taskId !== undefined) await own.store.write({ kind: 'cancel', taskId })
      const { tasks } = await own.store.read({ kind: 'tasks', filter: { limit: 200 } })
      expect(
        tasks.filter(({ state }) => state === 'completed' || state === 'canceled').length,
      ).toBeGreaterThanOrEqual(ended)
      for (; settled < own.claims.length; settled++) await own.complete(own.claims[settled] as Claim)
      await own.until(() => own.events.length > ended || own.claims.length > settled, 'the next end')
    }
    for (const child of submitters) {
      const { answer } = await child.heard((line) => line.answer !== undefined, 40)
      expect(answer).toMatchObject([{ accepted: true }])
    }
    for (const child of [...submitters, ...workers]) {
      expect(child.errors).toEqual([])
      expect(
        child.lines.filter(({ refused, failed }) => refused !== undefined || failed !== undefined),
      ).toEqual([])
      expect(await child.end()).toBe(0)
    }
    const { totals } = await own.store.read({ kind: 'stats' })
    expect(totals).toMatchObject({ submitted: 160, completed: 160 - totals.canceled, failed: 0 })
    await clean(own, path)
  })

  test('A02 a process that is killed while it writes loses nothing that was acknowledged, and leaves nothing half-written', async () => {
    const path = join(scratchFolder(), 'it.db')
    let acknowledged = 0
    for (let life = 1; life <= 6; life++) {
      const child = await ChildStore.open({ path, settles: true, worker: { workerId: 'c', capacity: 2 } })
      for (let n = 0; n < 150; n++)
        child.send({ kind: 'submit', tasks: [{ ...task, idempotencyKey: `${life}-${n}` }] })
      await child.heard(({ answer }) => Array.isArray(answer), life * 7)
      await child.kill()
      acknowledged += child.lines.filter(
        ({ answer }) => Array.isArray(answer) && answer[0]?.accepted === true,
      ).length
    }
    const own = await OwnStore.open(path)
    own.store.interest({ types: ['task.completed'], tasks: [] })
    await own.worker('w', 4)
    const { totals } = await own.store.read({ kind: 'stats' })
    expect(totals.submitted).toBeGreaterThanOrEqual(acknowledged)
    expect(acknowledged).toBeGreaterThan(100)
    for (let seen = 0; ; seen++) {
      const stats = await own.store.read({ kind: 'stats' })
      if (stats.running + stats.depth.normal === 0) break
      await own.until(() => own.claims.length > seen, 'the next task')
      expect(await own.complete(own.claims[seen] as Claim)).toBe('ok')
    }
    await clean(own, path)
  })

  test('a store opens while others write without a pause', async () => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path)
    const children = await Promise.all(
      [0, 1].map((n) => ChildStore.open({ path, settles: true, worker: { workerId: `c${n}`, capacity: 4 } })),
    )
    const rush = new AbortController()
    const writing = (async () => {
      while (!rush.signal.aborted) {
        await own.submit(1)
        await new Promise((next) => setImmediate(next))
      }
    })()
    const opened = await Promise.all(Array.from({ length: 4 }, () => ChildStore.open({ path })))
    for (const child of opened) {
      expect(child.errors).toEqual([])
      expect(await child.end()).toBe(0)
    }
    rush.abort()
    await writing
    for (const child of children) await child.end()
    await clean(own, path)
  })

  test('a process that only waits for a write which waits for a lock goes on until it is answered', async () => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path)
    const holder = new Database(path)
    const child = spawn(process.execPath, [join(import.meta.dirname, '../fixtures/write-once.ts'), path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const said: string[] = []
    const ended = once(child, 'close')
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.push(text.trim())
      // It is about to write, and will find the lock taken for a while.
      if (said.length === 1) {
        holder.exec('BEGIN IMMEDIATE')
        writeFileSync(`${path}.locked`, '')
        setTimeout(() => holder.exec('ROLLBACK'), 500)
      }
    })
    const [code] = (await ended) as [number | null]
    holder.close()
    expect([code, said]).toEqual([0, ['opened', 'accepted']])
    await clean(own, path)
  })

  test('a process that closes its store leaves the registry, and its workers with it', async () => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path)
    const child = await ChildStore.open({ path, worker: { workerId: 'c', capacity: 1 } })
    expect(await child.end()).toBe(0)
    expect(child.lines.at(-1)).toEqual({ closed: true })
    expect(await own.store.read({ kind: 'workers' })).toEqual([])
    await clean(own, path)
  })

  test('B12 a worker that comes back under its name after a crash has all its slots, and no more; what it held runs again', async () => {
    const path = join(scratchFolder(), 'it.db')
    const worker = { workerId: 'c', capacity: 4 }
    const first = await ChildStore.open({ path, worker })
    first.send({
      kind: 'submit',
      tasks: Array.from({ length: 8 }, () => ({ type: 'work', lane: 'normal', input: '1' }) as const),
    })
    await first.heard(({ claimed }) => claimed !== undefined, 4)
    await first.kill()
    const second = await ChildStore.open({ path, worker })
    await second.heard(({ claimed }) => claimed !== undefined, 4)
    const own = await OwnStore.open(path)
    const workers = await own.store.read({ kind: 'workers' })
    expect(workers).toMatchObject([{ workerId: 'c', capacity: 4, inFlight: 4 }])
    const leases = async (of: ChildStore) =>
      Promise.all(
        of.claims.map(async ({ taskId, leaseId }) =>
          (await own.store.read({ kind: 'leases', taskId })).find((lease) => lease.leaseId === leaseId),
        ),
      )
    for (const lease of await leases(first)) expect(lease).toMatchObject({ endReason: 'owner_dead' })
    for (const lease of await leases(second)) expect(lease).toMatchObject({ status: 'running' })
    const { running, depth } = await own.store.read({ kind: 'stats' })
    expect([running, depth.normal]).toEqual([4, 4])
    expect(second.claims).toHaveLength(4)
    expect(await second.end()).toBe(0)
    await clean(own, path)
  })
})
