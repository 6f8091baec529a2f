import { join } from 'node:path'
import { type Claim, type ExecutionConfigInput } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { threadOf } from '../helpers/connection-of.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { closedStoreFaults } from '../helpers/closed-store.ts'

const task = { type: 'work', lane: 'normal', input: '1' } as const
const worker = { workerId: 'w', capacity: 1, types: ['*'] } as const

/** A store in a thread of its own, with a worker that was given one task. */
async function holding(path: string, input: ExecutionConfigInput = {}) {
  const { config } = parseExecutionConfig(input)
  const store = await openStore(`sqlite:${path}`, { config })
  onTestFinished(() => store.close().catch(() => {}))
  const claim = Promise.withResolvers<Claim>()
  const notices: unknown[] = []
  const failed = Promise.withResolvers<Error>()
  store.listen({
    claimed: ([first]) => first !== undefined && claim.resolve(first),
    noticed: (all) => notices.push(...all),
    failed: failed.resolve,
  })
  await store.write({ kind: 'registerWorkers', workers: [worker] })
  store.demand('w', 1)
  await store.write({ kind: 'submit', tasks: [task] })
  return { store, config, claim: await claim.promise, notices, failed: failed.promise }
}

const completion = ({ leaseId }: Claim) =>
  ({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } }) as const

describe('the thread of a store', () => {
  test('F09 a signal that ends a process stops its store; the next process has the task at once', async () => {
    const path = join(scratchFolder(), 'store.db')
    const { store, config, claim, failed } = await holding(path)
    await threadOf(store).terminate()
    expect(await failed).toMatchObject({ code: 'store_io' })
    await expect(store.write(completion(claim))).rejects.toMatchObject({ code: 'store_io' })
    await store.close()

    const next = await openStore(`sqlite:${path}`, { config, thread: false })
    const again = Promise.withResolvers<Claim>()
    next.listen({ claimed: ([first]) => first !== undefined && again.resolve(first) })
    await next.write({ kind: 'registerWorkers', workers: [worker] })
    next.demand('w', 1)
    expect(await again.promise).toMatchObject({ taskId: claim.taskId, attempt: 2, crashes: 1 })
    expect(await next.write(completion(await again.promise))).toBe('ok')
    await next.close()
    expect(await closedStoreFaults(path, config)).toEqual([])
  })

  test('F13 takes a slow disk upon itself: the process goes on, no lease is lost, and what comes meanwhile shares a commit', async () => {
    const path = join(scratchFolder(), 'store.db')
    const config = { leaseTtlMs: 20_000, heartbeatIntervalMs: 200 }
    const { store, claim, notices } = await holding(path, config)
    slowDown(path)
    const { commits } = await store.read({ kind: 'stats' })
    let looks = 0
    const looking = setInterval(() => (looks += 1), 20)
    onTestFinished(() => clearInterval(looking))
    const begun = performance.now()
    const slow = store.write({ kind: 'submit', tasks: [{ ...task, type: 'slow' }] })
    await new Promise((next) => setImmediate(next))
    const meanwhile = Array.from({ length: 50 }, () => store.write({ kind: 'submit', tasks: [task] }))
    const receipts = (await Promise.all([slow, ...meanwhile])).flat()
    // Longer than a heartbeat takes to come due.
    expect(performance.now() - begun).toBeGreaterThan(2 * config.heartbeatIntervalMs)
    expect(looks).toBeGreaterThan(5)
    expect(receipts.map(({ accepted }) => accepted)).toEqual(Array.from({ length: 51 }, () => true))
    expect((await store.read({ kind: 'stats' })).commits - commits).toBeLessThanOrEqual(4)
    expect(notices).toEqual([])
    expect(await store.write(completion(claim))).toBe('ok')
  })

  /** The first task of type `slow` holds up the commit that it comes with, as a disk does that takes its time to sync. */
  function slowDown(path: string): void {
    const db = new Database(path)
    const counting = (rows: number) =>
      `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rows}) SELECT sum(n) AS sum FROM n`
    // The quickest of several: whatever else the machine does while it is measured would make the commit too short.
    const took = Array.from({ length: 5 }, () => {
      const begun = performance.now()
      db.exec(counting(20_000))
      return performance.now() - begun
    })
    const rows = Math.ceil((20_000 * 800) / Math.min(...took))
    db.exec(`CREATE VIEW slow AS ${counting(rows)};
      CREATE TRIGGER slow AFTER INSERT ON stream WHEN NEW.type = 'slow' BEGIN SELECT sum FROM slow; END`)
    db.close()
  }
})
