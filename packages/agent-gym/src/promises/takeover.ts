import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { startProgram } from '../host/program.ts'
import { spreadOf } from '../measure/statistics.ts'
import { type SeededRandom, seededRandom } from '../work/random.ts'
import type { Measured } from './figures.ts'
import type { Means } from './scenario-runs.ts'

/** Tasks that a process has in its hands when it is stopped. */
const held = 10
/** Pairs of processes at a time: most of the time each waits for leases to end. */
const atOnce = 4

/**
 * Stops a process with SIGSTOP in the middle of its steps, at a moment drawn from the seed, so often: from there until another process is in the
 * same step of each of its tasks. A stop in the middle of a commit keeps everybody waiting (J06); it is counted, and made again.
 * Source: `docs/semantics.md` 4.2, 4.9.
 */
export async function measureTakeover(
  { stops, ttl }: { readonly stops: number; readonly ttl: number },
  means: Means,
): Promise<Measured> {
  const random = seededRandom(means.seed, 'takeovers')
  const taken: number[] = []
  let inCommit = 0
  let left = stops
  const lane = async () => {
    while (left > 0) {
      left -= 1
      const times = await stopOnce(ttl, random, means)
      if (times === undefined) inCommit += 1
      if (times === undefined && inCommit <= stops) left += 1
      taken.push(...(times ?? []))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  const { config } = parseExecutionConfig({})
  const spread = spreadOf(taken)
  return {
    promise: 'R5 takeover',
    figures: [
      {
        what: 'tasks of stopped processes, taken over',
        value: taken.length,
        unit: '',
        bar: { equals: stops * held },
      },
      { what: 'besides: processes stopped in the middle of a commit', value: inCommit, unit: '' },
      { what: 'length of a lease', value: ttl, unit: 'ms' },
      {
        what: 'from the stop until another is in the same step, p50',
        value: spread?.p50 ?? null,
        unit: 'ms',
      },
      {
        what: 'from the stop until another is in the same step, longest',
        value: spread?.max ?? null,
        unit: 'ms',
        bar: { atMost: ttl + config.schedulerTickMs + 1_000 },
      },
    ],
    faults: [],
  }
}

/** How long each of its tasks took; undefined when it was stopped in the middle of a commit. */
async function stopOnce(
  ttl: number,
  random: SeededRandom,
  { compileCache, signal }: Means,
): Promise<readonly number[] | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'gym-takeover-'))
  const config = { leaseTtlMs: ttl, heartbeatIntervalMs: Math.floor(ttl / 6), maxInFlightPerWorker: held }
  const start = () =>
    startProgram('@ku0/agent-gym/zombie-worker', [folder, JSON.stringify(config), String(held)], {
      compileCache,
      signal,
    })
  const stopped = start()
  let other = stopped
  try {
    await stopped.said('open')
    const task = defineTask({ type: 'zombie', input: z.object({ meets: z.boolean() }) }, () => undefined)
    const store = `sqlite:${folder}/runtime.db`
    await using runtime = await createRuntime({ store, tasks: [task], workers: 0, config, logger: false })
    const receipts = await runtime.submitMany(
      Array.from({ length: held }, () => ({ task, input: { meets: true } })),
    )
    const ids = receipts.map(({ taskId }) => taskId)
    await Promise.all(ids.map((taskId) => stopped.said(`in ${taskId}`)))
    other = start()
    await other.said('open')
    await sleep(random.int(0, config.heartbeatIntervalMs), undefined, { signal })
    stopped.signal('SIGSTOP')
    const stoppedAt = performance.now()
    if (isLocked(`${folder}/runtime.db`)) return undefined
    const given = new AbortController()
    const never = sleep(ttl + 30_000, Infinity, { signal: given.signal }).catch(() => Infinity)
    const times = await Promise.all(
      ids.map((taskId) => {
        const again = other.said(`again ${taskId}`).then(() => performance.now() - stoppedAt)
        return Promise.race([again, never])
      }),
    )
    given.abort()
    return times
  } finally {
    stopped.signal('SIGKILL')
    other.signal('SIGKILL')
    await Promise.all([stopped.ended, other.ended])
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether somebody has the lock of a database and does not let it go. */
function isLocked(path: string): boolean {
  const db = new Database(path, { timeout: 500 })
  try {
    db.exec('BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return true
    throw error
  } finally {
    db.close()
  }
}
