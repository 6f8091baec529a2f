import type { Claim, ExecutionConfigInput, LeaseNotice, Read, Write } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment, VirtualClock } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import type { Message } from '../../src/engine/message.ts'
import type { Turn } from '../../src/engine/turn.ts'
import { runNow } from '../../src/engine/steps.ts'
import { readAnchor } from '../../src/sqlite/anchor.ts'
import { die, openStoreEngine } from '../../src/sqlite/store-engine.ts'
import { chainDigest } from '../../src/system.ts'
import { openFiles } from '../helpers/open-files.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'

interface Given {
  readonly path?: string
  readonly processId?: string
  readonly clock?: VirtualClock
  readonly config?: ExecutionConfigInput
}

/** An engine as its thread runs it, on virtual time: the event loop of its process shows life, or does not. */
function openEngine(given: Given = {}) {
  const { path = ':memory:', processId = 'p', clock = new VirtualClock() } = given
  const environment = { ...createVirtualEnvironment('stall'), clock, timers: clock, digest: nodeDigest }
  const { config } = parseExecutionConfig(given.config ?? {})
  const loop = { isStalled: false, seenAt: 0 }
  const store = openStoreEngine({
    path,
    config,
    durability: 'full',
    acceptLoss: false,
    identity: { processId, host: 'virtual', bootId: 'virtual', pid: 0 },
    environment,
    chain: chainDigest,
    stalledMs: () => {
      if (!loop.isStalled) loop.seenAt = environment.clock.monotonic()
      return environment.clock.monotonic() - loop.seenAt
    },
  })
  const receive = (message: Message) => {
    const asked = store.engine.receive(message)
    if (asked !== undefined) runNow(asked)
  }
  const engine = {
    info: store.engine.info,
    connection: store.database.connection,
    write: (call: number, operation: Write) => receive({ to: 'write', call, operation }),
    read: (call: number, query: Read) => receive({ to: 'read', call, query }),
    askHeld: (call: number, workerIds: readonly string[]) => receive({ to: 'held', call, workerIds }),
    setDemand: (workerId: string, credit: number) => receive({ to: 'demand', workerId, credit }),
    take: () => runNow(store.engine.take()),
    takeFirst: () => runNow(store.engine.takeFirst()),
    settle: () => runNow(store.engine.settle()),
    hint: () => store.engine.hint(),
    hasFound: () => store.engine.hasFound,
    rests: () => store.engine.rests,
    takeReads: () => store.engine.takeReads(),
    restMs: () => store.engine.restMs(),
    close: () => runNow(store.engine.close()),
    die: () => die(store),
  }
  const claims: Claim[] = []
  const notices: LeaseNotice[] = []
  /** When it said that a schedule is due. */
  const due: number[] = []
  const answers: Turn['answers'][number][] = []
  const take = () => {
    const turn = engine.take()
    answers.push(...turn.answers)
    claims.push(...turn.claims)
    notices.push(...turn.notices)
    if (turn.schedulesDue) due.push(environment.clock.now())
  }
  /** The engine takes its turns for so long, whatever its process does. */
  const pass = (ms: number) => {
    const end = environment.clock.monotonic() + ms
    while (environment.clock.monotonic() < end) {
      environment.clock.advanceBy(Math.min(end - environment.clock.monotonic(), Math.max(1, engine.restMs())))
      take()
    }
  }
  return { engine, config, environment, loop, claims, notices, due, answers, take, pass }
}

describe('the lock of a process (docs/semantics.md 4.10)', () => {
  test('4.10 a store opens while another process probes its lock', async () => {
    const path = join(scratchFolder(), 'it.db')
    mkdirSync(`${path}-owners`)
    const goOn = new Int32Array(new SharedArrayBuffer(4))
    const workerData = { path: `${path}-owners/probed.lock`, goOn }
    const prober = new Worker(join(import.meta.dirname, '../fixtures/probe-lock.ts'), { workerData })
    const gone = once(prober, 'exit')
    await once(prober, 'message')
    Atomics.store(goOn, 0, 1)
    Atomics.notify(goOn, 0)
    const { engine } = openEngine({ path, processId: 'probed' })
    expect(engine.info.processId).toBe('probed')
    engine.close()
    await gone
  })
})

test('D01 a line that asks which leases its workers have while another process holds the lock waits ten seconds of its own, as a call does', () => {
  const path = join(scratchFolder(), 'store.db')
  const { engine, answers, take, pass } = openEngine({ path })
  take()
  const intruder = new Database(path)
  intruder.exec('BEGIN IMMEDIATE')
  engine.askHeld(1, ['w'])
  pass(9_000)
  engine.askHeld(2, ['w'])
  expect(answers).toEqual([])
  pass(2_000)
  expect(answers).toMatchObject([{ call: 1, error: { code: 'store_busy' } }])
  intruder.exec('ROLLBACK')
  intruder.close()
  pass(100)
  expect(answers.slice(1)).toEqual([{ call: 2, value: [] }])
  engine.close()
})

describe('a handler that blocks the event loop (docs/semantics.md 4.8)', () => {
  test('4.8 keeps its lease past the TTL, up to maxStallMs; then renewal stops and the lease expires', () => {
    const { engine, config, loop, claims, notices, take, pass } = openEngine()
    engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    engine.write(2, { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    engine.setDemand('w', 1)
    take()
    expect(claims).toHaveLength(1)

    pass(10_000)
    loop.isStalled = true
    pass(config.maxStallMs - 1)
    expect(notices).toEqual([])
    // The last heartbeat was at most an interval before; the lease ends a TTL after it.
    pass(config.leaseTtlMs - config.heartbeatIntervalMs)
    expect(notices).toEqual([])
    pass(config.heartbeatIntervalMs + config.schedulerTickMs)
    expect(notices).toMatchObject([{ leaseId: claims[0]?.leaseId, verdict: 'lost', reason: 'expired' }])
    engine.close()
  })

  test('3.2 meanwhile its workers become stale and are given nothing, until it lives again', () => {
    const { engine, config, loop, claims, take, pass } = openEngine()
    engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 2, types: ['*'] }] })
    engine.setDemand('w', 2)
    take()
    loop.isStalled = true
    pass(config.maxStallMs + config.leaseTtlMs)
    engine.write(2, { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    take()
    expect(claims).toEqual([])
    loop.isStalled = false
    pass(config.heartbeatIntervalMs)
    expect(claims).toHaveLength(1)
    engine.close()
  })
})

describe('a write that is refused, where nobody writes for long', () => {
  const refusing = () => {
    const it = openEngine({ config: { leaseTtlMs: 1_000, heartbeatIntervalMs: 600 } })
    it.engine.connection.exec(
      "CREATE TEMP TRIGGER refuse BEFORE INSERT ON client BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    const refuse = () => {
      it.engine.write(9, { kind: 'putClient', name: 'ada' })
      it.environment.clock.advanceBy(1)
      expect(it.engine.take().answers).toMatchObject([{ call: 9, error: { code: 'internal' } }])
    }
    return { ...it, refuse }
  }

  test.each([
    ['between two renewals', 100],
    ['as they are to be renewed', 599],
  ])('D03 costs no lease: %s', (_, at) => {
    const { engine, claims, notices, take, pass, refuse } = refusing()
    engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    engine.write(2, { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    engine.setDemand('w', 1)
    take()
    expect(claims).toHaveLength(1)
    pass(at)
    refuse()
    pass(2_000)
    expect(notices).toEqual([])
    engine.close()
  })

  test('D03 makes no schedule late', () => {
    const { engine, environment, due, take, pass, refuse } = refusing()
    const nextAt = environment.clock.now() + 500
    engine.write(1, {
      kind: 'putSchedule',
      name: 'once',
      definition: {
        timing: { everyMs: 60_000, anchorAt: nextAt },
        run: { type: 'tick', lane: 'normal', input: '1' },
        catchUp: 'one',
        graceMs: 0,
        overlap: 'allow',
      },
      nextAt,
    })
    take()
    pass(100)
    refuse()
    pass(398)
    expect(due).toEqual([])
    pass(1)
    expect(due).toEqual([nextAt])
    engine.close()
  })
})

describe('an engine rests', () => {
  test('until the next tick, or until a delayed task is due before that', () => {
    const { engine, config, take } = openEngine()
    const delayed = (delayMs: number) =>
      ({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1', delayMs }] }) as const
    engine.write(1, delayed(10_000))
    take()
    expect(engine.restMs()).toBe(config.schedulerTickMs)
    engine.write(2, delayed(7))
    take()
    expect(engine.restMs()).toBe(7)
    engine.close()
  })

  test('until a schedule is due, which it says at once, then at each tick until somebody deals with it', () => {
    const { engine, config, environment, due, pass, take } = openEngine()
    const nextAt = environment.clock.now() + 7
    const definition = {
      timing: { everyMs: 60_000, anchorAt: nextAt },
      run: { type: 'tick', lane: 'normal', input: '1' },
      catchUp: 'one',
      graceMs: 0,
      overlap: 'allow',
    } as const
    engine.write(1, { kind: 'putSchedule', name: 'soon', definition, nextAt })
    take()
    expect(engine.restMs()).toBe(7)
    pass(7 + 2 * config.schedulerTickMs)
    expect(due).toEqual([0, 1, 2].map((tick) => nextAt + tick * config.schedulerTickMs))
    engine.close()
  })
})

describe('the rows that are read', () => {
  test('is answered before the flush of what came with it, and once', () => {
    const { engine } = openEngine()
    engine.write(1, { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    engine.read(2, { kind: 'tasks', filter: {} })
    expect(engine.takeReads().answers).toMatchObject([{ call: 2, value: { tasks: [] } }])
    expect(engine.take().answers).toMatchObject([{ call: 1 }])
    engine.read(3, { kind: 'tasks', filter: {} })
    expect(engine.take().answers).toMatchObject([{ call: 3, value: { tasks: [{ type: 'work' }] } }])
    engine.close()
  })
})

describe('the work that a turn leaves', () => {
  const submit = { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] } as const

  test('T6 an answer comes after the anchor has its commit', () => {
    const path = join(scratchFolder(), 'store.db')
    const { engine } = openEngine({ path })
    for (const commit of [1, 2, 3]) {
      engine.write(commit, submit)
      expect(engine.takeFirst().answers).toMatchObject([{ call: commit, value: [{ accepted: true }] }])
      expect(readAnchor(path)).toMatchObject({ commit })
      engine.settle()
    }
    engine.close()
  })

  test('a turn comes at once and does first what the one before has left', () => {
    const { engine, take } = openEngine()
    engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    engine.write(2, submit)
    engine.write(3, submit)
    take()
    engine.setDemand('w', 1)
    const { claims } = engine.takeFirst()
    expect(claims).toMatchObject([{ sequence: 1 }])
    expect([engine.restMs(), engine.rests()]).toEqual([0, false])
    const leaseId = claims[0]?.leaseId ?? ''
    engine.write(4, { kind: 'settle', leaseId, settlement: { as: 'completed', output: '1' } })
    engine.setDemand('w', 2)
    expect(engine.takeFirst()).toMatchObject({ answers: [{ value: 'ok' }], claims: [{ sequence: 2 }] })
    engine.write(5, submit)
    expect(engine.takeFirst().answers).toMatchObject([{ call: 5, value: [{ accepted: true }] }])
    engine.settle()
    expect([engine.restMs() > 0, engine.rests()]).toEqual([true, false])
    engine.close()
  })
})

describe('a flush looks for what is due only where there may be something', () => {
  const config = {
    leaseTtlMs: 1_000,
    heartbeatIntervalMs: 600,
    maxStallMs: 500,
    schedulerTickMs: 60_000,
  } as const
  const work = { type: 'work', lane: 'normal', input: '1' } as const

  test('a lease that has run out since the last tick ends in the next flush', () => {
    const { engine, environment, loop, claims, notices, take } = openEngine({ config })
    engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    engine.setDemand('w', 1)
    take()
    engine.write(2, { kind: 'submit', tasks: [work] })
    take()
    expect(claims).toHaveLength(1)
    loop.isStalled = true
    environment.clock.advanceBy(1_001)
    engine.write(3, { kind: 'submit', tasks: [work] })
    take()
    expect(notices).toMatchObject([{ leaseId: claims[0]?.leaseId, verdict: 'lost', reason: 'expired' }])
    engine.close()
  })

  test('a lease of another process that has run out ends too, and a task that it has delayed is queued', () => {
    const path = join(scratchFolder(), 'store.db')
    const clock = new VirtualClock()
    const first = openEngine({ path, processId: 'first', clock, config })
    first.engine.write(1, {
      kind: 'registerWorkers',
      workers: [{ workerId: 'f', capacity: 3, types: ['*'] }],
    })
    first.engine.setDemand('f', 3)
    first.take()
    const other = openEngine({ path, processId: 'other', clock, config })
    other.engine.write(1, {
      kind: 'registerWorkers',
      workers: [{ workerId: 'o', capacity: 1, types: ['*'] }],
    })
    other.engine.setDemand('o', 1)
    other.engine.write(2, { kind: 'submit', tasks: [work, { ...work, delayMs: 900 }] })
    other.take()
    expect(other.claims).toMatchObject([{ sequence: 1 }])
    clock.advanceBy(1_001)
    first.engine.write(2, { kind: 'submit', tasks: [work] })
    first.take()
    expect(first.claims.map(({ sequence }) => sequence)).toEqual([1, 2, 3])
    for (const { engine } of [first, other]) engine.close()
  })
})

test('a look has found what was to be written in its own turn, and nothing of an earlier one', () => {
  const path = join(scratchFolder(), 'store.db')
  const clock = new VirtualClock()
  const first = openEngine({ path, processId: 'first', clock })
  const other = openEngine({ path, processId: 'other', clock })
  const submit = { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] } as const
  const looks = () => {
    // Beside another process it lets go of the lock for a moment after each commit.
    clock.advanceBy(50)
    first.engine.hint()
    first.take()
    return first.engine.hasFound()
  }
  first.engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
  first.engine.setDemand('w', 1)
  expect(looks()).toBe(false)
  other.engine.write(1, submit)
  other.take()
  expect(looks()).toBe(true)
  expect(first.claims).toHaveLength(1)
  first.engine.write(2, submit)
  expect(looks()).toBe(false)
  for (const { engine } of [first, other]) engine.close()
})

describe('a tick that comes late', () => {
  test('F10 is one tick: what was due meanwhile is done at once, and the next one is a tick later', () => {
    const { engine, config, environment, claims, take } = openEngine()
    engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 2, types: ['*'] }] })
    engine.setDemand('w', 2)
    const task = { type: 'work', lane: 'normal', input: '1' } as const
    engine.write(2, {
      kind: 'submit',
      tasks: [
        { ...task, delayMs: 150 },
        { ...task, delayMs: 2_000 },
      ],
    })
    take()
    const commits = () => {
      engine.read(3, { kind: 'stats' })
      const [answer] = engine.takeReads().answers
      return (answer as unknown as { value: { commits: number } }).value.commits
    }
    const before = commits()
    // Twenty-five ticks are missed, and both tasks come due meanwhile: no heartbeat is due yet.
    environment.clock.advanceBy(25 * config.schedulerTickMs)
    take()
    expect(claims).toHaveLength(2)
    expect(commits()).toBe(before + 1)
    expect(engine.restMs()).toBe(config.schedulerTickMs)
    take()
    expect(engine.restMs()).toBe(config.schedulerTickMs)
    expect(commits()).toBe(before + 1)
    engine.close()
  })
})

describe('a lease that cannot be renewed, since nothing can be written (docs/reliability.md B07)', () => {
  test('B07 is lost to its handler a tenth of its time before it ends, once; the task then runs again when there is room', () => {
    const { engine, claims, notices, take, pass } = openEngine({
      config: { leaseTtlMs: 1_000, heartbeatIntervalMs: 600 },
    })
    engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    engine.write(2, { kind: 'submit', tasks: [{ taskId: 'mine', type: 'work', lane: 'normal', input: '1' }] })
    engine.setDemand('w', 2)
    take()
    expect(claims).toMatchObject([{ taskId: 'mine' }])
    const { connection } = engine
    const refuse = "BEFORE UPDATE ON lease BEGIN SELECT RAISE(ABORT, 'no'); END"
    connection.exec(`CREATE TEMP TRIGGER refuse ${refuse}`)
    pass(899)
    expect(notices).toEqual([])
    pass(80)
    const lost = { leaseId: claims[0]?.leaseId, taskId: 'mine', verdict: 'lost', reason: 'not renewed' }
    expect(notices).toEqual([lost])
    pass(5_000)
    expect(notices).toEqual([lost])
    expect(claims).toHaveLength(1)

    connection.exec('DROP TRIGGER refuse')
    pass(1_000)
    expect(claims).toMatchObject([{ attempt: 1 }, { taskId: 'mine', attempt: 2 }])
    expect(notices.slice(1)).toMatchObject([
      { leaseId: claims[0]?.leaseId, verdict: 'lost', reason: 'expired' },
    ])
    engine.close()
  })
})

test('an engine that dies leaves no file open, nor does one that closes: one process plays many lives', () => {
  const path = join(scratchFolder(), 'store.db')
  for (const end of ['die', 'close'] as const) {
    const { engine, take } = openEngine({ path, processId: end })
    engine.write(1, { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    take()
    expect(openFiles(path)).toContain(`${path}-anchor`)
    engine[end]()
    expect(openFiles(path)).toEqual([])
  }
})

test('4.10 a lock file that was removed proves nothing: its process is gone when it has been silent for presenceTtlMs, and no sooner', () => {
  const path = join(scratchFolder(), 'store.db')
  const clock = new VirtualClock()
  const config = {
    leaseTtlMs: 600_000,
    heartbeatIntervalMs: 20_000,
    maxStallMs: 600_000,
    schedulerTickMs: 1_000,
  } as const
  const bare = openEngine({ path, processId: 'bare', clock, config })
  const heir = openEngine({ path, processId: 'heir', clock, config })
  bare.engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'b', capacity: 1, types: ['*'] }] })
  bare.engine.write(2, { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
  bare.engine.setDemand('b', 1)
  bare.take()
  expect(bare.claims).toHaveLength(1)
  heir.engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'h', capacity: 1, types: ['*'] }] })
  heir.engine.setDemand('h', 1)

  rmSync(`${path}-owners/bare.lock`)
  const both = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      heir.pass(5_000)
      bare.take()
    }
  }
  // While it lives it says so, whatever became of its lock.
  both(3 * heir.config.presenceTtlMs)
  expect([heir.claims, bare.notices]).toEqual([[], []])

  const silentAt = clock.now()
  bare.engine.die()
  heir.pass(heir.config.presenceTtlMs - config.heartbeatIntervalMs - 1_000)
  expect(heir.claims).toEqual([])
  heir.pass(config.heartbeatIntervalMs + 2_000)
  expect(heir.claims).toMatchObject([{ taskId: bare.claims[0]?.taskId, attempt: 2, crashes: 1 }])
  expect(clock.now() - silentAt).toBeLessThan(config.leaseTtlMs)
  heir.engine.close()
})

test('4.10 a lock file that cannot be removed stops nobody: its process has ended, and nobody looks at it', () => {
  const path = join(scratchFolder(), 'store.db')
  const clock = new VirtualClock()
  const config = { schedulerTickMs: 1_000 }
  const dying = openEngine({ path, processId: 'dying', clock, config })
  const heir = openEngine({ path, processId: 'heir', clock, config })
  // Nothing can be a lock, or be removed as a file, where a folder stands.
  const block = (processId: string) => {
    const lock = `${path}-owners/${processId}.lock`
    rmSync(lock)
    mkdirSync(join(lock, 'full'), { recursive: true })
  }
  block('dying')
  dying.engine.die()
  heir.engine.write(1, { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
  heir.pass(2 * heir.config.presenceTtlMs)
  heir.engine.read(2, { kind: 'stats' })
  expect(heir.engine.take().answers).toMatchObject([{ call: 2, value: { totals: { submitted: 1 } } }])
  block('heir')
  expect(() => heir.engine.close()).not.toThrow()
})

test('4.10 an engine that dies leaves what the death of its process leaves: its lease is taken over, long before it ends', () => {
  const path = join(scratchFolder(), 'store.db')
  const clock = new VirtualClock()
  const dying = openEngine({ path, processId: 'dying', clock })
  const heir = openEngine({ path, processId: 'heir', clock })
  dying.engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'd', capacity: 1, types: ['*'] }] })
  dying.engine.write(2, { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
  dying.engine.setDemand('d', 1)
  dying.take()
  expect(dying.claims).toHaveLength(1)
  heir.engine.write(1, { kind: 'registerWorkers', workers: [{ workerId: 'h', capacity: 1, types: ['*'] }] })
  heir.engine.setDemand('h', 1)
  heir.pass(1_000)
  expect(heir.claims).toEqual([])

  dying.engine.die()
  dying.engine.die()
  heir.pass(1_000)
  expect(heir.claims).toMatchObject([{ taskId: dying.claims[0]?.taskId, attempt: 2, crashes: 1 }])
  heir.engine.read(2, { kind: 'workers' })
  expect(heir.engine.take().answers).toMatchObject([{ call: 2, value: [{ workerId: 'h' }] }])
  heir.engine.close()
})
