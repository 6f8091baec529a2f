import type { Claim, Environment, ExecutionStore } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { VirtualClock } from '@ku0/agent-runtime-core/testing'
import type { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import type { Haste } from '../../src/engine/database.ts'
import { Connections } from '../../src/postgres/connection/connections.ts'
import { loadDriver } from '../../src/postgres/connection/driver.ts'
import type { Looks } from '../../src/postgres/processes/looks.ts'
import { Turn } from '../../src/postgres/processes/turn.ts'
import { parsePostgresUrl } from '../../src/postgres/connection/url.ts'
import { systemEnvironment } from '../../src/system.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, partsOf } from '../helpers/postgres-store.ts'
import { locksOfTurn, turnKey, turns } from '../helpers/turns.ts'

const much = { isAwaited: false, hasMuch: true, hasTime: false }
const little = { isAwaited: false, hasMuch: false, hasTime: false }
const awaited = { isAwaited: true, hasMuch: false, hasTime: false }
const config = { queueDepthLimit: 10_000, batchBackpressureThreshold: 10_000, maxInFlightPerWorker: 100 }

interface Stage {
  readonly one: ExecutionStore
  readonly two: ExecutionStore
  readonly url: string
  /** Speaks to the server beside both. */
  readonly client: Client
}

/** Two processes of one store, of which each has seen commits of the other. */
async function competing(): Promise<Stage> {
  const server = await sharedServer()
  const url = server.newStore()
  const [one, two] = [
    await openStore(url, { config, thread: false }),
    await openStore(url, { config, thread: false }),
  ]
  const client = await server.connect(url)
  onTestFinished(async () => void (await Promise.all([one.close(), two.close(), client.end()])))
  await submit(one, 'first')
  await submit(two, 'second')
  await submit(one, 'third')
  return { one, two, url, client }
}

function submit(store: ExecutionStore, key: string) {
  return store.write({
    kind: 'submit',
    tasks: [{ type: 'work', lane: 'normal', input: 'null', idempotencyKey: key }],
  })
}

async function submitMany(store: ExecutionStore, name: string, count: number): Promise<void> {
  const answers = await Promise.all(Array.from({ length: count }, (_, n) => submit(store, `${name} ${n}`)))
  for (const answer of answers) expect(answer).toMatchObject([{ accepted: true, deduplicated: false }])
}

/** A turn of a store on time that stands still, and its connection. */
async function newTurn(url: string) {
  const clock = new VirtualClock()
  const place = parsePostgresUrl(url)
  const session = await new Connections(await loadDriver(), place, systemEnvironment().timers).open('commit')
  onTestFinished(() => session.end())
  const turn = new Turn({ ...place, clock, timers: clock, isVirtual: false, leaseTtlMs: () => 30_000 })
  return { clock, session, turn }
}

/** The same, which the connection has been given. `limited`: the server ends it where the test stands still for too long. */
async function given(limited = false, others = 1) {
  const server = await sharedServer()
  const url = server.newStore()
  await (await openStore(url, { thread: false })).close()
  const { clock, session, turn } = await newTurn(url)
  const client = await server.connect(url)
  onTestFinished(() => client.end())
  await turn.ask(session, others, much)
  if (!limited) await session.query('SET idle_session_timeout TO 0')
  turn.begins(session, others, much)
  /** Sends a commit, and hears what goes with it. True if it was the last of the turn. */
  const sends = async (isLastOfMany = false) => {
    const [after, ...more] = turn.sends(isLastOfMany)
    if (after === undefined || more.length > 0) throw new Error('one statement goes with a commit')
    const [found] = await session.batch([after])
    const isLast = !turn.isOn
    if (found !== undefined) turn.hears(session, found.rows)
    return isLast
  }
  return { clock, session, client, turn, sends, url }
}

test('a turn goes on over several commits, until its time is over', async () => {
  const { clock, session, client, turn, sends } = await given()
  for (let n = 0; n < 4; n += 1) {
    expect(turn.isOn).toBe(true)
    turn.decides(session, much)
    clock.advanceBy(90)
    expect(await sends()).toBe(false)
    turn.rests(session)
  }
  expect(await turns(client)).toHaveLength(1)
  clock.advanceBy(40)
  expect(turn.isOn).toBe(false)
  await expect.poll(() => turns(client), { interval: 5 }).toEqual([])
})

test('a turn whose time is over while a flush is decided ends with its commit', async () => {
  const { clock, client, turn, sends } = await given()
  clock.advanceBy(410)
  expect(turn.isOn).toBe(false)
  expect(await turns(client)).toHaveLength(1)
  expect(await sends()).toBe(true)
  expect(await turns(client)).toEqual([])
})

test('a turn ends with the commits that are under way when somebody waits who hurries', async () => {
  const { session, client, turn, sends } = await given()
  turn.decides(session, much)
  expect(await sends()).toBe(false)
  expect(turn.isOn).toBe(true)
  await client.query(`SELECT pg_advisory_lock_shared(${turnKey}, 1)`)
  turn.decides(session, much)
  expect(await sends()).toBe(false)
  expect(turn.isOn).toBe(false)
  await expect.poll(() => turns(client), { interval: 5 }).toEqual([])
})

test('a turn in which much is written ends so when somebody waits who has little to write, and one in which little is written goes on', async () => {
  const { session, client, turn, sends } = await given()
  await client.query(`SELECT pg_advisory_lock_shared(${turnKey}, 2)`)
  turn.decides(session, little)
  expect(await sends()).toBe(false)
  expect(turn.isOn).toBe(true)
  turn.decides(session, much)
  expect(await sends()).toBe(false)
  expect(turn.isOn).toBe(false)
})

test('a turn that began with much to write, and goes on with little, ends for one that has little when a turn of little would be over', async () => {
  const { clock, session, client, turn, sends } = await given(false, 3)
  await client.query(`SELECT pg_advisory_lock_shared(${turnKey}, 2)`)
  for (const ms of [50, 49]) {
    turn.decides(session, little)
    clock.advanceBy(ms)
    expect(await sends()).toBe(false)
    expect(turn.isOn).toBe(true)
  }
  turn.decides(session, little)
  clock.advanceBy(1)
  expect(await sends()).toBe(false)
  expect(turn.isOn).toBe(false)
  await expect.poll(() => turns(client), { interval: 5 }).toEqual([])
})

test('a commit after which nothing is expected gives the turn back with it', async () => {
  const { client, turn, sends } = await given()
  expect(await sends(true)).toBe(true)
  expect(turn.isOn).toBe(false)
  expect(await turns(client)).toEqual([])
})

test('a turn in which nothing is written for 4 ms ends', async () => {
  const { clock, session, client, turn, sends } = await given()
  expect(await sends()).toBe(false)
  turn.rests(session)
  clock.advanceBy(1)
  expect(turn.isOn).toBe(true)
  turn.decides(session, much)
  clock.advanceBy(10)
  expect(await sends()).toBe(false)
  turn.rests(session)
  clock.advanceBy(4)
  expect(turn.isOn).toBe(false)
  await expect.poll(() => turns(client), { interval: 5 }).toEqual([])
})

test('a turn waits for handlers as long as they lately took to have much to write, for 16 ms at the most', async () => {
  const { clock, session, turn, sends } = await given()
  /** How long it is kept while nothing is written. */
  const keptMs = async () => {
    expect(await sends()).toBe(false)
    turn.rests(session)
    let ms = 0
    for (; turn.isOn; ms += 1) clock.advanceBy(1)
    return ms
  }
  /** It is asked for again after so long. */
  const again = async (ms: number, haste: Haste) => {
    clock.advanceBy(ms)
    await turn.ask(session, 1, haste)
    await session.query('SET idle_session_timeout TO 0')
    turn.begins(session, 1, haste)
  }
  expect(await keptMs()).toBe(4)
  await again(2, much)
  expect(await keptMs()).toBe(12)
  await again(1, much)
  expect(await keptMs()).toBe(16)
  await again(1, much)
  expect(await keptMs()).toBe(4)
  await again(2, little)
  expect(await keptMs()).toBe(4)
})

test('a turn that waits for handlers for long learns meanwhile who hurries', async () => {
  const { clock, session, client, turn, sends } = await given()
  for (const restMs of [3, 5, 9, 0]) {
    expect(await sends()).toBe(false)
    turn.rests(session)
    clock.advanceBy(restMs)
    if (restMs > 0) turn.decides(session, much)
  }
  // Its question is answered before this one, on the same connection.
  const looks = async () => {
    clock.advanceBy(2)
    await session.query('SELECT')
  }
  for (let ms = 0; ms < 4; ms += 2) await looks()
  expect(turn.isOn).toBe(true)
  await client.query(`SELECT pg_advisory_lock_shared(${turnKey}, 1)`)
  for (let ms = 4; ms < 8; ms += 2) await looks()
  expect(turn.isOn).toBe(false)
  await expect.poll(() => turns(client), { interval: 5 }).toEqual([])
})

/** The same where time passes so many times more slowly: a turn has room for commits on a slow machine. */
function slower({ clock, timers, ...others }: Environment, times: number): Environment {
  return {
    ...others,
    clock: { now: () => clock.now(), monotonic: () => clock.monotonic() / times },
    timers: { after: (delayMs, run) => timers.after(delayMs * times, run) },
  }
}

test('in its turn a process does not ask whether others have committed', async () => {
  const { two, url } = await competing()
  const environment = slower(systemEnvironment(), 10)
  const one = await newPostgresStore(parseExecutionConfig(config).config, environment, url, false, false)
  onTestFinished(() => one.close())
  await submit(one, 'fourth')
  await submit(two, 'fifth')
  const { db } = partsOf(one)
  const { looks, turn } = db as unknown as { readonly looks: Looks; readonly turn: Turn }
  const look = looks.look.bind(looks)
  let asked = 0
  looks.look = (session, mono) => {
    asked += 1
    return look(session, mono)
  }
  const afterCommit = db.afterCommit.bind(db)
  const inTurn: number[] = []
  db.afterCommit = async (committed) => {
    const [before, isOn] = [asked, turn.isOn]
    await db.look(0)
    if (isOn) inTurn.push(asked - before)
    await afterCommit(committed)
  }
  for (let n = 0; inTurn.length === 0 && n < 10; n += 1) await submitMany(one, `many ${n}`, 100)
  expect(new Set(inTurn)).toEqual(new Set([0]))
  await expect.poll(() => turn.isOn, { interval: 5 }).toBe(false)
  const before = asked
  const looking = db.look(0)
  expect(asked).toBe(before + 1)
  await looking
})

test('a process that only renews leases waits for its turn without haste', async () => {
  const { url, client } = await competing()
  const one = await openStore(url, { config: { ...config, heartbeatIntervalMs: 100 }, thread: false })
  onTestFinished(() => one.close())
  const claims: Claim[] = []
  one.listen({ claimed: (some) => void claims.push(...some) })
  await one.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
  one.demand('w', 1)
  await expect.poll(() => claims).toHaveLength(1)
  // On a busy machine a renewal may be late before it asks, and hurries then: another one follows.
  let seen: readonly string[] = []
  for (let round = 0; round < 10 && seen.length !== 2; round += 1) {
    await client.query(`SELECT pg_advisory_lock(${turnKey}, 0)`)
    // Its next commit comes to nothing, since it was decided in the belief that the process is alone.
    await client.query('UPDATE head SET version = version + 1')
    const look = async () => {
      seen = await locksOfTurn(client)
      return seen
    }
    await expect.poll(look, { interval: 5 }).toContain('turn is waited for')
    await client.query(`SELECT pg_advisory_unlock(${turnKey}, 0)`)
    await expect.poll(() => locksOfTurn(client), { interval: 5 }).not.toContain('turn is waited for')
  }
  expect(seen).toEqual(['turn', 'turn is waited for'])
})

test('the turns of a process are short where its leases are', async () => {
  const url = (await sharedServer()).newStore()
  const short = parseExecutionConfig({ leaseTtlMs: 2_000, heartbeatIntervalMs: 500 }).config
  const store = await newPostgresStore(short, systemEnvironment(), url, false, false)
  onTestFinished(() => store.close())
  const { link, turn } = partsOf(store).db as unknown as {
    readonly link: { readonly session: Parameters<Turn['begins']>[0] }
    readonly turn: Turn
  }
  // Time stands still for the turn alone.
  const until = Object.assign(turn as unknown as { readonly until: number }, { mono: () => 0 })
  turn.begins(link.session, 1, much)
  expect(until.until).toBe(250)
  turn.forget()
})

test('a process that has nothing to write gives its turn back, however short it was', async () => {
  const { one, two, client } = await competing()
  await submit(two, 'another')
  await submitMany(one, 'many', 100)
  await expect.poll(() => turns(client), { interval: 5 }).toEqual([])
})

test('processes that write without a pause take turns, and each call happens once', async () => {
  const { one, two, url } = await competing()
  await Promise.all([submitMany(one, 'one', 3_000), submitMany(two, 'two', 3_000)])
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 6_003, faultCount: 0 })
})

test('a holder of the turn that stands still loses its connection before calls are refused', async () => {
  const { one, two, url } = await competing()
  const { session, turn } = await newTurn(url)
  await turn.ask(session, 1, much)
  turn.begins(session, 1, much)
  await Promise.all([submitMany(one, 'one', 10), submitMany(two, 'two', 10)])
  expect(session.lost).toMatchObject({ code: '57P05' })
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 23, faultCount: 0 })
})

test('a holder of the turn that has no limit of rest, as one of an older program, loses its connection after others have waited twice', async () => {
  const { one, two, url } = await competing()
  const { session } = await newTurn(url)
  await session.query(`SELECT pg_advisory_lock(${turnKey}, 0)`)
  await Promise.all([submitMany(one, 'one', 10), submitMany(two, 'two', 10)])
  await expect.poll(() => session.lost, { interval: 5 }).toMatchObject({ code: '57P01' })
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 23, faultCount: 0 })
})

test('a connection may rest for as long as it likes once it has given the turn back, or its transaction has failed', async () => {
  const { session, turn, sends } = await given(true)
  const limit = async () => (await session.query('SHOW idle_session_timeout')).rows
  expect(await limit()).toEqual([['3s']])
  await sends(true)
  expect(await limit()).toEqual([['0']])
  await turn.ask(session, 1, much)
  expect(await limit()).toEqual([['3s']])
  const { rollback } = new Connections(
    await loadDriver(),
    parsePostgresUrl((await sharedServer()).newStore()),
    systemEnvironment().timers,
  )
  await session.run(rollback)
  expect(await limit()).toEqual([['0']])
})

test('processes that were not given the turn in time ask for it again, and none of them waits for the head', async () => {
  const { one, two, url, client } = await competing()
  const more = [
    await openStore(url, { config, thread: false }),
    await openStore(url, { config, thread: false }),
  ]
  onTestFinished(async () => void (await Promise.all(more.map((store) => store.close()))))
  const all = [one, two, ...more]
  for (const [n, store] of [...all, ...all].entries()) await submit(store, `before ${n}`)
  await expect.poll(() => turns(client), { interval: 5 }).toEqual([])
  const watcher = await (await sharedServer()).connect(url)
  onTestFinished(() => watcher.end())
  await client.query(`BEGIN; SELECT pg_advisory_lock(${turnKey}, 0); SELECT FROM head FOR UPDATE`)
  const written = Promise.all(all.map((store, n) => submit(store, `meanwhile ${n}`)))
  const asked = new Map<number, Set<string>>()
  const waitedFor = new Set<string>()
  const timesAsked = async () => {
    const { rows } = await watcher.query(
      `SELECT pid, query_start AS start, wait_event AS what FROM pg_stat_activity WHERE application_name = 'agent-runtime commit' AND wait_event_type = 'Lock'`,
    )
    for (const { pid, start, what } of rows as { pid: number; start: Date; what: string }[]) {
      const starts = (asked.get(pid) ?? new Set()).add(start.toISOString())
      asked.set(pid, starts)
      // On a slow machine one may have taken itself for alone, and have gone to the head the first time.
      if (starts.size > 1) waitedFor.add(what)
    }
    return [...asked.values()].filter((starts) => starts.size > 1).length
  }
  await expect.poll(timesAsked, { interval: 20, timeout: 50_000 }).toBe(all.length)
  // The first in line waits for the turn, and the others for their place.
  expect([...waitedFor].toSorted()).toEqual(['advisory', 'relation'])
  await client.query('ROLLBACK; SELECT pg_advisory_unlock_all()')
  for (const answer of await written) expect(answer).toMatchObject([{ accepted: true }])
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 15, faultCount: 0 })
})

test('only the first of those that wait for the turn has the server keep what is changed meanwhile', async () => {
  const { session, client, url } = await given()
  session.drop()
  const waiting = [await newTurn(url), await newTurn(url), await newTurn(url)]
  // A connection looks the table up once, and has the server keep rows while it waits for the first time.
  for (const it of waiting) {
    await it.turn.ask(it.session, 3, much)
    it.turn.begins(it.session, 3, much)
    it.turn.end(it.session)
  }
  await client.query(`SELECT pg_advisory_lock(${turnKey}, 0)`)
  const asked = Promise.all(
    waiting.map(async (it, n) => {
      await it.turn.ask(it.session, 3, [much, little, awaited][n] ?? much)
      it.turn.begins(it.session, 3, much)
      it.turn.end(it.session)
    }),
  )
  const keeping = async () => {
    const { rows } = await client.query(
      "SELECT backend_xmin IS NOT NULL AS keeps FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() ORDER BY 1",
    )
    return rows.map(({ keeps }: { readonly keeps: boolean }) => keeps)
  }
  await expect.poll(keeping, { interval: 5 }).toEqual([false, false, true])
  await client.query(`SELECT pg_advisory_unlock(${turnKey}, 0)`)
  await asked
})

test('a process that is gone while it waits for the turn leaves the line', async () => {
  const { client, url } = await given()
  const { session, turn } = await newTurn(url)
  // It would wait longer than it takes the server to see that its client is gone.
  const asked = turn.ask(session, 1_000, much)
  // Until it is looked at below.
  asked.catch(() => undefined)
  await expect.poll(() => locksOfTurn(client), { interval: 5 }).toEqual(['turn', 'turn is waited for'])
  session.drop()
  await expect(asked).rejects.toThrow(/connection/i)
  await expect.poll(() => locksOfTurn(client), { interval: 20, timeout: 20_000 }).toEqual(['turn'])
})

test('a process says why it hurries while it waits for the turn: it ends and gives its tasks back, or has few calls of handlers', async () => {
  const { one, two, client } = await competing()
  const claims: Claim[] = []
  two.listen({ claimed: (some) => void claims.push(...some) })
  await two.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 70, types: ['*'] }] })
  await submitMany(two, 'more', 70)
  two.demand('w', 66)
  await expect.poll(() => claims).toHaveLength(66)
  const leases = claims.map(({ leaseId }) => leaseId)
  /** The locks of the turn while somebody else has it and this is written. */
  const meanwhile = async (write: () => Promise<unknown>, locks: readonly string[]) => {
    await submit(one, String(locks))
    await expect.poll(() => turns(client), { interval: 5 }).toEqual([])
    await client.query(`SELECT pg_advisory_lock(${turnKey}, 0)`)
    const written = write()
    await expect.poll(() => locksOfTurn(client), { interval: 5 }).toEqual(locks)
    await client.query(`SELECT pg_advisory_unlock(${turnKey}, 0)`)
    await written
  }
  const settle = (some: readonly string[]) => () =>
    Promise.all(
      some.map((leaseId) =>
        two.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } }),
      ),
    )
  await meanwhile(settle(leases.slice(0, 64)), ['turn', 'turn is waited for'])
  await meanwhile(settle(leases.slice(64, 65)), ['little', 'turn', 'turn is waited for'])
  const [released = ''] = leases.slice(65)
  await meanwhile(
    () => two.write({ kind: 'release', leaseId: released, reason: 'drained' }),
    ['awaited', 'turn', 'turn is waited for'],
  )
})

test('the turn protects nothing: where others move the head meanwhile, what was decided in it is decided again', async () => {
  const { one, two, url, client } = await competing()
  const writing = new AbortController()
  const move = async () => {
    while (!writing.signal.aborted) await client.query('UPDATE head SET version = version + 1')
  }
  const moving = move()
  await Promise.all([submitMany(one, 'one', 1_000), submitMany(two, 'two', 1_000)])
  writing.abort()
  await moving
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 2_003, faultCount: 0 })
  await expect.poll(() => turns(client), { interval: 5 }).toEqual([])
})
