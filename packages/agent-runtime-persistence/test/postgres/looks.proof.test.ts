import { Scene } from '@ku0/agent-runtime-conformance'
import type { ExecutionConfig } from '@ku0/agent-runtime-core'
import type { VirtualClock } from '@ku0/agent-runtime-core/testing'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../../../agent-gym/src/place/postgres-server.ts'
import { openStore } from '../../src/index.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, partsOf, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { Connections } from '../../src/postgres/connection/connections.ts'
import { loadDriver } from '../../src/postgres/connection/driver.ts'
import { Presence } from '../../src/postgres/processes/presence.ts'
import type { Session } from '../../src/postgres/connection/session.ts'
import { parsePostgresUrl } from '../../src/postgres/connection/url.ts'
import { systemEnvironment } from '../../src/system.ts'
import { newsIn, newsText } from '../../src/postgres/processes/news-text.ts'
import type { News } from '../../src/engine/news.ts'
import { turnKey } from '../helpers/turns.ts'

interface Stage {
  readonly a: Scene
  readonly b: Scene
  /** Takes the turn and the lock of all commits, as a third process would. Returns how both are given back. */
  readonly hold: () => Promise<() => Promise<void>>
  /** How many transactions wait for a lock. */
  readonly waiting: () => Promise<number>
  /** Whom the commits since the last call concern, by what others are told of them. */
  readonly told: () => Promise<readonly News[]>
}

/** Two processes on one database and one virtual time. */
async function play(
  act: (stage: Stage) => Promise<void>,
  given: Partial<ExecutionConfig> = {},
): Promise<void> {
  const server = await sharedServer()
  const url = server.newStore()
  const scenes: Scene[] = []
  const allQuiet = async () => {
    let waited = false
    for (const { store } of scenes) waited = (await quiet(store)) || waited
    return waited
  }
  const setting = { digest: nodeDigest, quiet: allQuiet, config: { schedulerTickMs: 20, ...given } }
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
      await client.query(`LISTEN ku0_${new URL(url).searchParams.get('schema') ?? ''}`)
      let heard: News[] = []
      client.on('notification', ({ payload = '' }) => heard.push(newsIn(payload).news))
      const told = async () => {
        // A notice is sent behind its commit, on the same connection.
        for (const { store } of scenes) await partsOf(store).db.eventsAfter(0, 0)
        await client.query('SELECT 1')
        const found = heard
        heard = []
        return found
      }
      const waiting = async () => {
        const { rows } = await client.query('SELECT count(*)::integer AS n FROM pg_locks WHERE NOT granted')
        return (rows as readonly { readonly n: number }[])[0]?.n ?? 0
      }
      const hold = async () => {
        await client.query(`BEGIN; SELECT pg_advisory_lock(${turnKey}, 0); SELECT FROM head FOR UPDATE`)
        return async () => void (await client.query('ROLLBACK; SELECT pg_advisory_unlock_all()'))
      }
      try {
        await a.pass(1_000)
        await act({ a, b, hold, told, waiting })
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

/** Whether the first tasks of streams had to be asked for, or were there already, each time that a store wanted them from now on. */
function asksOf({ store }: Scene): () => readonly ('asked' | 'there')[] {
  const { db } = partsOf(store)
  const load = db.load.bind(db)
  const asks: ('asked' | 'there')[] = []
  db.load = (wanted) => {
    const answer = load(wanted)
    if (wanted.heads !== undefined) asks.push(answer instanceof Promise ? 'asked' : 'there')
    return answer
  }
  return () => asks
}

test('the tasks that another process has queued are read in the trip that reads its commit', async () => {
  await play(async ({ a, b }) => {
    await b.worker('b', 4)
    const asks = asksOf(b)
    const claimed: string[] = []
    const submitted: string[] = []
    for (let n = 0; n < 3; n += 1) {
      submitted.push(await a.accepted())
      claimed.push((await b.claim()).taskId)
    }
    expect(claimed).toEqual(submitted)
    // Which streams it claims from is known once it has claimed.
    expect(asks().at(0)).toBe('asked')
    expect(asks().slice(1)).not.toContain('asked')
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

test('a commit tells others whom it concerns', async () => {
  await play(async ({ a, b, told }) => {
    await told()
    await b.worker('b', 1)
    await a.worker('a', 1, ['mine'])
    expect(await told()).toEqual([])
    // It runs in the commit in which it is queued.
    await a.accepted({ type: 'mine' })
    const mine = await a.claim()
    await a.step(mine, 'one', '1')
    expect(new Set(await told())).toEqual(new Set(['followers']))
    const taskId = await a.accepted({ type: 'other' })
    expect((await told())[0]).toBe('takers')
    const other = await b.claim()
    await told()
    await a.cancel(taskId)
    expect(await told()).toContain('all')
    await b.settle(other)
    await told()
    // Whoever lives when it is due promotes it.
    await a.accepted({ type: 'later', delayMs: 60_000 })
    expect(await told()).toContain('takers')
  })
})

test('a process looks at what concerns it', async () => {
  await play(async ({ a, b }) => {
    const { isConcerned } = partsOf(b.store)
    const concerned = () => (['all', 'takers', 'followers'] as const).filter((news) => isConcerned(news))
    expect(concerned()).toEqual(['all'])
    await b.worker('b', 1)
    expect(concerned()).toEqual(['all', 'takers'])
    await a.accepted()
    await b.claim()
    expect(concerned()).toEqual(['all'])
    b.store.interest({ types: ['task.queued'], tasks: [] })
    await b.pass(100)
    expect(concerned()).toEqual(['all', 'takers', 'followers'])
  })
})

test('a full process looks at what is queued where its tasks may have to give way to it', async () => {
  await play(
    async ({ a, b }) => {
      await b.worker('b', 1)
      await a.accepted()
      await b.claim()
      expect(partsOf(b.store).isConcerned('takers')).toBe(true)
      expect(partsOf(b.store).isConcerned('followers')).toBe(false)
    },
    { preemption: true },
  )
})

test('a process that begins to follow a task while its end is being committed sees the end', async () => {
  await play(async ({ a, b, hold, waiting }) => {
    await b.worker('b', 1)
    const taskId = await a.accepted()
    const claim = await b.claim()
    const before = await waiting()
    const release = await hold()
    const settled = b.settle(claim)
    await expect.poll(waiting).toBeGreaterThan(before)
    b.store.interest({ types: [], tasks: [taskId] })
    // What waits for quiet would wait for the commit.
    expect((await b.store.read({ kind: 'task', taskId }))?.state).toBe('running')
    await release()
    expect(await settled).toBe('ok')
    await b.pass(100)
    expect(b.events.map(({ type }) => type)).toContain('task.completed')
  })
})

/** The connection on which a store commits is lost. */
function lose({ store }: Scene): void {
  const session = Reflect.get(partsOf(store).db, 'session') as Session
  session.drop()
}

test('a process whose connection is lost after a commit sees what others have committed, and goes on', async () => {
  await play(async ({ a, b }) => {
    b.store.interest({ types: 'all', tasks: [] })
    const { db } = partsOf(b.store)
    const eventsAfter = db.eventsAfter.bind(db)
    let asked = 0
    db.eventsAfter = (commit, until) => {
      asked += 1
      if (asked === 1) lose(b)
      return eventsAfter(commit, until)
    }
    const taskId = await a.accepted()
    await b.pass(200)
    expect(asked).toBeGreaterThan(1)
    expect(b.events.filter((event) => event.taskId === taskId)).toMatchObject([{ type: 'task.queued' }])
    await b.accepted()
    expect(b.failures).toEqual([])
  })
})

test('a process whose connection is lost begins to follow a task, and gets its output', async () => {
  await play(async ({ a, b }) => {
    const { leaseId, taskId } = await a.running()
    const append = (chunk: string) => a.write({ kind: 'appendOutput', leaseId, chunks: [chunk] })
    await append('1')
    await b.pass(200)
    lose(b)
    b.store.interest({ types: [], tasks: [taskId] })
    await b.pass(200)
    await append('2')
    await b.pass(200)
    expect(b.chunks.at(-1)).toMatchObject({ taskId, seq: 2, data: '2' })
    expect(b.failures).toEqual([])
  })
})

test('a process that begins to follow looks at commits that did not concern it before', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const { timers } = systemEnvironment()
  const connections = new Connections(await loadDriver(), parsePostgresUrl(url), timers)
  const heard = Promise.withResolvers<void>()
  const presence = new Presence(connections, {
    ttlMs: 90_000,
    timers,
    isVirtual: false,
    onHint: () => undefined,
    looksAt: (news) => {
      if (news === 'followers') heard.resolve()
      return false
    },
  })
  onTestFinished(() => presence.close())
  const client = await server.connect(url)
  onTestFinished(() => client.end())
  await presence.show(7)
  presence.take({ fields: [], rows: [[8, 0, 1]], command: '' }, 0)
  expect(presence.wantMissed()).toBe(false)
  await client.query(presence.notifyText, [newsText({ writer: 8, version: 12, news: 'followers' })])
  await heard.promise
  expect(presence.takeTold()).toBe(0)
  expect(presence.wantMissed()).toBe(true)
  expect(presence.takeTold()).toBe(12)
  expect(presence.wantMissed()).toBe(false)
})

test('a notice is sent behind its commit, in a transaction of its own: one that notifies holds a lock of the whole server', async () => {
  const server = await startPostgres({ fsync: false, settings: ['log_statement=all', 'log_line_prefix=%p '] })
  onTestFinished(server.stop)
  const url = `${server.url}?schema=notices`
  const [one, two] = [await openStore(url, { thread: false }), await openStore(url, { thread: false })]
  await two.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 9, types: ['other'] }] })
  const statements = () =>
    Array.from(
      server.log().matchAll(/^(\d+) LOG: {2}(?:statement|execute [^:]*): (.*)$/gm),
      ([, pid, sql]) => ({ pid, sql }),
    )
  const notices = () => {
    const before = new Map<string | undefined, string | undefined>()
    const found: (string | undefined)[] = []
    for (const { pid, sql } of statements()) {
      // The connections that listen say that they have come.
      if (
        sql?.includes('pg_notify') === true &&
        before.has(pid) &&
        before.get(pid)?.includes('LISTEN') !== true
      )
        found.push(before.get(pid))
      before.set(pid, sql)
    }
    return found
  }
  await expect
    .poll(async () => {
      await one.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: 'null' }] })
      return notices().length
    })
    .toBeGreaterThan(2)
  expect(new Set(notices())).toEqual(new Set(['COMMIT']))
  await Promise.all([one.close(), two.close()])
})
