import { join } from 'node:path'
import type { Claim, EventType, StoredEvent, Write } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { ChildStore, type Place } from '../helpers/child-store.ts'
import { cleanBesideTheDead as clean, OwnStore } from '../helpers/own-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const submission = (key: string, count = 1): Write<'submit'> => ({
  kind: 'submit',
  tasks: Array.from({ length: count }, (_, n) => ({
    type: 'work',
    lane: 'normal',
    input: '1',
    idempotencyKey: `${key} ${n}`,
  })),
})
const historyOf = async (own: OwnStore, taskId: string): Promise<readonly StoredEvent[]> =>
  (await own.store.read({ kind: 'events', taskId, after: 0, limit: 100 })) ?? []
const typesOf = async (own: OwnStore, taskId: string) =>
  (await historyOf(own, taskId)).map(({ type }) => type)
const count = (types: readonly EventType[], type: EventType) => types.filter((other) => other === type).length

/** A process with one task that it holds, which dies at a place. */
async function holder(path: string, dies: Place) {
  const own = await OwnStore.open(path)
  const [taskId = ''] = await own.submit(1)
  const child = await ChildStore.open({ path, worker: { workerId: 'c', capacity: 1 }, dies })
  await child.heard(({ claimed }) => claimed !== undefined)
  return { own, taskId, child, leaseId: child.claims[0]?.leaseId ?? '' }
}

/** The next that this process is given. */
async function given(own: OwnStore): Promise<Claim> {
  await own.worker('w', 1)
  await own.until(() => own.claims.length === 1, 'the task')
  return own.claims[0] as Claim
}

describe('a process that is killed at a place (docs/reliability.md A)', () => {
  test.each([
    ['A01 in the middle of writing a submission', 'within', 0],
    ['A01 before the commit of a submission', 'before', 0],
    ['A02 between the commit of a submission and its answer', 'after', 1],
  ] as const)('%s: the same again under its key leaves one task', async (_, when, kept) => {
    const path = join(scratchFolder(), 'it.db')
    const child = await ChildStore.open({ path, dies: { when, event: 'task.queued' } })
    child.send(submission('a'))
    await child.died()
    expect(child.answers).toEqual([])
    const own = await OwnStore.open(path)
    const { tasks } = await own.store.read({ kind: 'tasks', filter: {} })
    const [receipt] = await own.store.write(submission('a'))
    expect(receipt).toMatchObject({ accepted: true, deduplicated: kept === 1, sequence: 1 })
    expect(tasks.map(({ taskId }) => taskId)).toEqual(kept === 1 ? [receipt?.taskId] : [])
    expect(await typesOf(own, receipt?.taskId ?? '')).toEqual(['task.queued'])
    expect((await own.store.read({ kind: 'stats' })).depth.normal).toBe(1)
    await clean(own, path)
  })

  test.each([
    ['at the 50th of them', 'within', 0],
    ['before their commit', 'before', 0],
    ['after their commit', 'after', 100],
  ] as const)('A03 a hundred tasks of one submission, killed %s: all or none', async (_, when, kept) => {
    const path = join(scratchFolder(), 'it.db')
    const child = await ChildStore.open({ path, dies: { when, event: 'task.queued', nth: 50 } })
    child.send(submission('a', 100))
    await child.died()
    const own = await OwnStore.open(path)
    expect((await own.store.read({ kind: 'stats' })).depth.normal).toBe(kept)
    const receipts = await own.store.write(submission('a', 100))
    expect(receipts.map((it) => it.accepted && it.deduplicated)).toEqual(
      Array.from({ length: 100 }, () => kept === 100),
    )
    expect((await own.store.read({ kind: 'stats' })).depth.normal).toBe(100)
    await clean(own, path)
  })

  test.each([
    ['after its claim was committed, before its handler began', 'after', 2],
    ['before its claim was committed', 'before', 1],
    ['in the middle of its claim', 'within', 1],
  ] as const)('A04 a task whose process is killed %s runs once', async (_, when, attempt) => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path)
    const [taskId = ''] = await own.submit(1)
    const dies = { when, event: 'task.started' } as const
    const child = new ChildStore({ path, worker: { workerId: 'c', capacity: 1 }, dies })
    await child.died()
    expect(child.claims).toEqual([])
    const claim = await given(own)
    expect(claim).toMatchObject({ taskId, attempt, crashes: attempt - 1, fencingToken: attempt })
    expect(await own.complete(claim)).toBe('ok')
    expect(count(await typesOf(own, taskId), 'task.requeued')).toBe(attempt - 1)
    await clean(own, path)
  })

  test.each([
    ['in the middle of their commit', { when: 'within', event: 'checkpoint.created' }, 0],
    ['before their commit', { when: 'before', event: 'step.completed' }, 0],
    ['after their commit', { when: 'after', event: 'step.completed' }, 1],
  ] as const)(
    'A07 a memo and the checkpoint handed over with it, killed %s: both or neither',
    async (_, dies, kept) => {
      const path = join(scratchFolder(), 'it.db')
      const { own, child, leaseId } = await holder(path, dies)
      child.send(
        { kind: 'recordStep', leaseId, key: 'a', position: 0, durationMs: 1, result: '"first"' },
        { kind: 'checkpoint', leaseId, data: '"far"' },
      )
      await child.died()
      const claim = await given(own)
      expect([claim.steps, claim.checkpoint]).toEqual(kept === 1 ? [1, '"far"'] : [0, undefined])
      const again = { key: 'a', position: 0, durationMs: 1, result: '"second"' }
      const recorded = await own.store.write({ kind: 'recordStep', leaseId: claim.leaseId, ...again })
      // What is recorded answers from then on, whatever runs again.
      expect(recorded).toMatchObject({ fenced: 'ok', ...(kept === 1 ? { memo: '"first"' } : {}) })
      expect(await own.complete(claim)).toBe('ok')
      await clean(own, path)
    },
  )

  test('A09 killed between the commit of a completion and its answer: the task stays completed and does not run again', async () => {
    const path = join(scratchFolder(), 'it.db')
    const { own, taskId, child, leaseId } = await holder(path, { when: 'after', event: 'task.completed' })
    child.send({ kind: 'settle', leaseId, settlement: { as: 'completed', output: '"c"' } })
    await child.died()
    expect(child.answers).toEqual([])
    const [next] = await own.submit(1)
    expect((await given(own)).taskId).toBe(next)
    expect(await own.store.read({ kind: 'task', taskId })).toMatchObject({
      state: 'completed',
      output: '"c"',
      attempt: 1,
      crashes: 0,
    })
    await clean(own, path)
  })

  test('A08 killed before the commit of a completion: all memos are there, and it is completed by the next', async () => {
    const path = join(scratchFolder(), 'it.db')
    const { own, taskId, child, leaseId } = await holder(path, { when: 'before', event: 'task.completed' })
    child.send({ kind: 'recordStep', leaseId, key: 'a', position: 0, durationMs: 1, result: '"c"' })
    await child.heard(({ answer }) => answer !== undefined)
    child.send({ kind: 'settle', leaseId, settlement: { as: 'completed', output: '"c"' } })
    await child.died()
    const claim = await given(own)
    expect(claim).toMatchObject({ taskId, attempt: 2, steps: 1 })
    const { steps } = await own.store.read({ kind: 'memos', taskId })
    expect(steps).toMatchObject([{ key: 'a', result: '"c"' }])
    expect(await own.complete(claim)).toBe('ok')
    await clean(own, path)
  })

  test.each([
    ['in the middle of writing it', 'within', 1],
    ['before its commit', 'before', 1],
    ['after its commit', 'after', 0],
  ] as const)(
    'A10 a retry, killed %s: the task is queued once, never failed and queued',
    async (_, when, crashes) => {
      const path = join(scratchFolder(), 'it.db')
      const { own, taskId, child, leaseId } = await holder(path, { when, event: 'task.requeued' })
      child.send({ kind: 'settle', leaseId, settlement: { as: 'retry', error: '{}', delayMs: 0 } })
      await child.died()
      const claim = await given(own)
      expect(claim).toMatchObject({ taskId, attempt: 2, crashes })
      expect(await own.complete(claim)).toBe('ok')
      expect(count(await typesOf(own, taskId), 'task.requeued')).toBe(1)
      await clean(own, path)
    },
  )

  test('A11 a caller that cancels is killed between the commit and the signal: the holder learns it, the task stays canceled', async () => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path)
    const [taskId = ''] = await own.submit(1)
    const claim = await given(own)
    const child = await ChildStore.open({ path, dies: { when: 'after', event: 'task.canceled' } })
    child.send({ kind: 'cancel', taskId, reason: 'enough' })
    await child.died()
    await own.until(() => own.notices.length > 0, 'a notice')
    expect(own.notices).toMatchObject([
      { leaseId: claim.leaseId, taskId, verdict: 'canceled', reason: 'enough' },
    ])
    expect(await own.complete(claim)).toBe('stale')
    expect(await own.store.read({ kind: 'task', taskId })).toMatchObject({ state: 'canceled' })
    await clean(own, path)
  })

  test.each(['within', 'before', 'after'] as const)(
    'A15 a timer whose process is killed as it fires (%s the commit) fires once',
    async (when) => {
      const path = join(scratchFolder(), 'it.db')
      const { own, taskId, child, leaseId } = await holder(path, { when, event: 'task.resumed' })
      // Only the child is to see the timer come due.
      await own.store.close()
      const nap = { key: 'nap', position: 0, kind: 'timer', delayMs: 50 } as const
      child.send({ kind: 'suspend', leaseId, waits: [nap], stay: false })
      await child.died()
      const after = await OwnStore.open(path)
      const claim = await given(after)
      expect(claim).toMatchObject({ taskId, attempt: 1, crashes: 0 })
      const { waits } = await after.store.read({ kind: 'memos', taskId })
      expect(waits).toMatchObject([{ key: 'nap', outcome: 'fired' }])
      expect(count(await typesOf(after, taskId), 'task.resumed')).toBe(1)
      expect(await after.complete(claim)).toBe('ok')
      await clean(after, path)
    },
  )
})

describe('a sweep that is cut (docs/reliability.md A)', () => {
  const config = { leaseTtlMs: 2_400, heartbeatIntervalMs: 400 }

  /** A holder that stands still with its lease, and a process that dies or stops while it sweeps the lease, which has expired. */
  async function sweeping(path: string, place: Omit<Place, 'event'>) {
    const worker = { workerId: 'c', capacity: 1 }
    const zombie = await ChildStore.open({ path, config, worker, insists: true })
    zombie.send(submission('a'))
    // It stops with its lease in hand: a lease that ran out before it was given reaches no worker.
    await zombie.heard(({ claimed }) => claimed !== undefined)
    zombie.signal('SIGSTOP')
    const sweeper = await ChildStore.open({ path, config, dies: { ...place, event: 'task.requeued' } })
    await sweeper.heard(({ reached }) => reached === true)
    return { zombie, sweeper }
  }

  test('A13 its holder completes between the look and the write: it waits, and is stale; the task goes back once', async () => {
    const path = join(scratchFolder(), 'it.db')
    const { zombie, sweeper } = await sweeping(path, { when: 'within', signal: 'SIGSTOP' })
    zombie.signal('SIGCONT')
    const { claimed } = await zombie.heard((line) => line.claimed !== undefined)
    zombie.send({
      kind: 'settle',
      leaseId: claimed?.leaseId ?? '',
      settlement: { as: 'completed', output: '"late"' },
    })
    // It wants to write, and has found the lock taken.
    await zombie.heard(({ noticed }) => noticed?.verdict === 'lost')
    expect(zombie.answers.filter((answer) => typeof answer === 'string')).toEqual([])
    sweeper.signal('SIGCONT')
    await zombie.heard(({ answer }) => answer === 'stale')
    // The worker of the zombie has no slot back, so nobody has taken the task since.
    const own = await OwnStore.open(path, config)
    const { tasks } = await own.store.read({ kind: 'tasks', filter: {} })
    const taskId = tasks[0]?.taskId ?? ''
    expect(tasks).toMatchObject([{ state: 'queued', attempt: 2, crashes: 1 }])
    expect(await typesOf(own, taskId)).toEqual(['task.queued', 'task.started', 'task.requeued'])
    const claim = await given(own)
    expect(await own.complete(claim)).toBe('ok')
    for (const child of [zombie, sweeper]) expect(await child.end()).toBe(0)
    await clean(own, path, config)
  })

  test.each(['within', 'before'] as const)(
    'A14 its process is killed %s the commit: the task goes back once, and attempt rises by one',
    async (when) => {
      const path = join(scratchFolder(), 'it.db')
      const { zombie, sweeper } = await sweeping(path, { when })
      await sweeper.died()
      const own = await OwnStore.open(path, config)
      const claim = await given(own)
      expect(claim).toMatchObject({ attempt: 2, crashes: 1, fencingToken: 2 })
      const types = await typesOf(own, claim.taskId)
      expect(types).toEqual(['task.queued', 'task.started', 'task.requeued', 'task.started'])
      expect(await own.complete(claim)).toBe('ok')
      zombie.signal('SIGCONT')
      expect(await zombie.end()).toBe(0)
      await clean(own, path, config)
    },
  )
})
