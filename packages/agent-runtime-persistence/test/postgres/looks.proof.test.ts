import { Scene } from '@ku0/agent-runtime-conformance'
import type { VirtualClock } from '@ku0/agent-runtime-core/testing'
import { expect, onTestFinished, test } from 'vitest'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, partsOf, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { turnKey } from '../helpers/turns.ts'

interface Stage {
  readonly a: Scene
  readonly b: Scene
  /** Takes the turn and the lock of all commits, as a third process would. Returns how both are given back. */
  readonly hold: () => Promise<() => Promise<void>>
}

/** Two processes on one database and one virtual time. */
async function play(act: (stage: Stage) => Promise<void>): Promise<void> {
  const server = await sharedServer()
  const url = server.newStore()
  const scenes: Scene[] = []
  const allQuiet = async () => {
    let waited = false
    for (const { store } of scenes) waited = (await quiet(store)) || waited
    return waited
  }
  const setting = { digest: nodeDigest, quiet: allQuiet, config: { schedulerTickMs: 20 } }
  let second: (() => Promise<Scene>) | undefined
  await Scene.play(
    ({ config, environment }) => {
      const clock = environment.clock as VirtualClock
      second = async () => new Scene(await newPostgresStore(config, environment, url), config, clock, setting)
      return newPostgresStore(config, environment, url)
    },
    setting,
    async (a) => {
      scenes.push(a)
      const b = await second?.()
      if (b === undefined) throw new Error('the scene opened no store')
      scenes.push(b)
      const client = await server.connect(url)
      onTestFinished(() => client.end())
      const hold = async () => {
        await client.query(`BEGIN; SELECT pg_advisory_lock(${turnKey}, 0); SELECT FROM head FOR UPDATE`)
        return async () => void (await client.query('ROLLBACK; SELECT pg_advisory_unlock_all()'))
      }
      try {
        await a.pass(1_000)
        await act({ a, b, hold })
      } finally {
        scenes.pop()
        await b.store.close()
      }
    },
  )
}

/** How often a store has begun a transaction in which it may write, from now on. */
function beginsOf({ store }: Scene): () => number {
  const { db } = partsOf(store)
  const begin = db.begin.bind(db)
  let begins = 0
  db.begin = (haste) => {
    begins += 1
    return begin(haste)
  }
  return () => begins
}

/** The other process of a scene looks several times, and finds nothing for itself. */
async function lookInVain(a: Scene): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    await a.accepted({ type: 'nobody' })
    await a.pass(200)
  }
}

test('a process that looks for what others have written begins to write only where it finds something', async () => {
  await play(async ({ a, b }) => {
    await b.worker('b', 1, ['other'])
    const begins = beginsOf(b)
    for (let n = 0; n < 20; n += 1) {
      await a.accepted()
      await a.pass(100)
    }
    // The first look asks for the turn: the one before it found something.
    expect(begins()).toBeLessThanOrEqual(1)
    await a.accepted({ type: 'other' })
    expect((await b.claim()).type).toBe('other')
  })
})

test('a process learns that its task was canceled while a third one holds the turn and the lock', async () => {
  await play(async ({ a, b, hold }) => {
    await b.worker('b', 1)
    const taskId = await a.accepted()
    const claim = await b.claim()
    await lookInVain(a)
    await a.cancel(taskId)
    const release = await hold()
    await b.pass(100)
    expect(b.notices).toMatchObject([{ leaseId: claim.leaseId, verdict: 'canceled' }])
    await release()
    await b.pass(100)
  })
})

test('a process has what it follows of others while a third one holds the turn and the lock', async () => {
  await play(async ({ a, b, hold }) => {
    b.store.interest({ types: ['task.queued'], tasks: [] })
    await lookInVain(a)
    await a.accepted()
    const release = await hold()
    await b.pass(100)
    expect(b.events.map(({ elsewhere }) => elsewhere)).toEqual([true, true, true, true])
    await release()
  })
})

test('a process whose looks found nothing runs what it finds at last, and writes it once', async () => {
  await play(async ({ a, b }) => {
    await b.worker('b', 2)
    await lookInVain(a)
    for (let n = 0; n < 4; n += 1) await a.accepted()
    for (let n = 0; n < 4; n += 1) {
      const claim = await b.claim()
      expect(await b.settle(claim)).toBe('ok')
      b.free('b')
      await lookInVain(a)
    }
    expect((await a.stats()).totals.completed).toBe(4)
    expect(await a.violations()).toEqual([])
  })
})

test('a process whose workers run nothing shows that they live while a third one holds the turn and the lock', async () => {
  await play(async ({ a, b, hold }) => {
    await b.worker('b', 1)
    const start = b.now
    const release = await hold()
    const begins = [beginsOf(a), beginsOf(b)]
    await b.pass(25_000)
    const [worker] = await b.read({ kind: 'workers' })
    expect(worker?.lastSeenAt).toBeGreaterThanOrEqual(start + 20_000)
    expect(begins.map((count) => count())).toEqual([0, 0])
    await release()
    // The time of a lease is over since it registered, and not since it was seen.
    await b.pass(10_000)
    await a.accepted()
    expect((await b.claim()).workerId).toBe('b')
    expect(await a.violations()).toEqual([])
  })
})
