import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { takeSnapshot, violationsIn } from '@ku0/agent-runtime-conformance'
import type { Claim } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Client } from 'pg'
import { expect, onTestFailed, onTestFinished, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { startPostgres } from '../../../agent-gym/src/place/postgres-server.ts'
import { openStore, verifyStore } from '../../src/index.ts'
import { systemEnvironment } from '../../src/system.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { CuttingProxy } from '../helpers/cutting-proxy.ts'
import { insisted } from '../helpers/insisted.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

const config = {
  leaseTtlMs: 4_000,
  heartbeatIntervalMs: 500,
  presenceIntervalMs: 500,
  presenceTtlMs: 3_000,
  maxCrashes: 1_000,
  queueDepthLimit: 10_000,
  batchBackpressureThreshold: 10_000,
}
const processes = 3
/** A fault comes each time that so many tasks have ended. */
const tasksPerFault = 20

interface Storm {
  readonly seed: number
  /** Whether processes learn of others' commits by notices, or have to look. */
  readonly notices: boolean
}

const storms = draws<readonly Storm[]>(
  [],
  [{ seed: 1, notices: true }],
  [1, 2, 3, 4, 5].flatMap((seed) => [
    { seed, notices: true },
    { seed, notices: false },
  ]),
)
/** So many tasks at the least, and for so long. */
const tasks = draws(0, 120, 1_000)
const leastMs = draws(0, 0, 180_000)
/** Submitted and not ended. */
const mostOpen = 200

/** The server ends all connections of clients, as an administrator does. */
async function endConnections(url: string): Promise<void> {
  const client = new Client(url)
  await client.connect()
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  )
  await client.end()
}

const faults = ['terminate', 'restart', 'cut', 'silence', 'pause', 'kill'] as const

test.each(storms)(
  'D13 D14 D15 D16 J three processes under faults of all kinds end each task once: seed $seed, notices $notices',
  { timeout: 1_200_000 },
  async ({ seed, notices }) => {
    const { random } = createVirtualEnvironment(seed)
    const pick = (below: number) => Math.floor(random.next() * below)
    const server = await startPostgres({ fsync: false })
    onTestFinished(server.stop)
    const url = `${server.url}?schema=storm${notices ? '' : '&pooler=transaction'}`
    const store = await openStore(url, { config })
    const proxies = await Promise.all(Array.from({ length: processes }, () => CuttingProxy.start(url)))
    let opened = 0
    const start = (slot: number) =>
      ChildStore.open({
        path: (proxies[slot] as CuttingProxy).url,
        config,
        worker: { workerId: `worker ${(opened += 1)}`, capacity: 4 },
        settles: true,
      })
    const living = await Promise.all(proxies.map((_, slot) => start(slot)))
    const all = [...living]

    const { clock } = systemEnvironment()
    const began = clock.monotonic()
    const lasted = () => Math.round(clock.monotonic() - began)
    const counts = Object.fromEntries(faults.map((kind) => [kind, 0]))
    const story: string[] = []
    onTestFailed(() => console.log(story.join('\n')))
    /** What the last fault has left, and the next one mends. */
    let mend: () => void = () => undefined
    const strike = async () => {
      mend()
      mend = () => undefined
      const slot = pick(processes)
      const [child, proxy] = [living[slot] as ChildStore, proxies[slot] as CuttingProxy]
      const kind = faults[pick(faults.length)] as (typeof faults)[number]
      counts[kind] = (counts[kind] ?? 0) + 1
      story.push(`${lasted()} ms: ${kind} ${slot}`)
      switch (kind) {
        case 'terminate':
          await endConnections(server.url)
          break
        case 'restart':
          await server.restart()
          break
        case 'cut':
          proxy.cutNext(pick(2) === 0 ? 'before the commit' : 'after the commit')
          break
        case 'silence': {
          const held = proxy.hold({ side: 'server', commits: 1 })
          mend = () => held.drop()
          break
        }
        case 'pause':
          child.signal('SIGSTOP')
          mend = () => child.signal('SIGCONT')
          break
        case 'kill':
          await child.kill()
          all.push((living[slot] = await start(slot)))
          break
      }
    }

    const completed = () => insisted(async () => (await store.read({ kind: 'stats' })).totals.completed)
    /** How many there are in all, once that is known. */
    let total = Number.POSITIVE_INFINITY
    const submitting = (async () => {
      let n = 0
      for (; n < tasks || lasted() < leastMs; n += 1) {
        const open = async () => (n % mostOpen === 0 ? n - (await completed()) : 0)
        await expect.poll(open, { interval: 50 }).toBeLessThan(mostOpen)
        const submitted = [
          { type: 'work', lane: 'normal', input: 'null', idempotencyKey: `task ${n}` },
        ] as const
        expect(await insisted(() => store.write({ kind: 'submit', tasks: submitted }))).toMatchObject([
          { accepted: true },
        ])
      }
      total = n
    })()
    // It is told below.
    submitting.catch(() => (total = 0))
    for (let next = tasksPerFault; next < total; next += tasksPerFault) {
      const isReached = async () => (await completed()) >= Math.min(next, total)
      await expect.poll(isReached, { interval: 50 }).toBe(true)
      await strike()
    }
    mend()
    await submitting
    await expect.poll(completed, { interval: 100 }).toBe(total)
    const { totals } = await insisted(() => store.read({ kind: 'stats' }))
    expect(totals).toMatchObject({ submitted: total, failed: 0 })
    const ends = await Promise.all(
      living.map(async (child) => ({ code: await child.end(), said: child.errors.join('') })),
    )
    expect(ends).toEqual(living.map(() => ({ code: 0, said: '' })))
    const told = all.flatMap(({ lines }) => lines.flatMap(({ failed, refused }) => failed ?? refused ?? []))
    // Who is closed may still have been asking, for a lease that others took over.
    expect(told.filter((code) => code !== 'store_closed')).toEqual([])
    // The rules that the simulation checks, over all tasks.
    const left = await insisted(() => takeSnapshot(store))
    const rules = { config: parseExecutionConfig(config).config, digest: nodeDigest }
    expect(violationsIn(left, rules)).toEqual([])
    expect(left.tasks).toHaveLength(total)
    await store.close()

    const tokens = all.flatMap(({ claims }): readonly Claim[] => claims)
    const distinct = new Set(tokens.map(({ taskId, fencingToken }) => `${taskId} ${fencingToken}`))
    expect(distinct.size).toBe(tokens.length)
    // Each task has one final event, and leases do not overlap: otherwise there are faults.
    expect(await verifyStore(url)).toMatchObject({ faults: [], ok: true, tasks: total })
    expect(Object.values(counts).filter((count) => count > 0).length).toBeGreaterThan(2)
    console.log(
      `seed ${seed}, notices ${notices}: ${total} tasks in ${lasted()} ms, ${JSON.stringify(counts)}`,
    )
  },
)
