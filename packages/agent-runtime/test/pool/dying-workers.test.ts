import { decideReplacement } from '@ku0/agent-runtime-core'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import type { PoolChange } from '../../src/index.ts'
import type { Crew } from '../../src/pool/crew.ts'
import { limitsOf } from '../../src/pool/limits.ts'
import { ScalingPool } from '../../src/pool/scaling-pool.ts'
import { elapse } from '../virtual-runtime.ts'

/** A pool whose workers are names: the test says when one dies. */
function poolOfNames(limits: Parameters<typeof limitsOf>[0]) {
  const environment = createVirtualEnvironment('pool')
  const { clock, timers } = environment
  const names: string[] = []
  let started = 0
  let deaths = 0
  const starts: number[] = []
  const nothing = { completed: 0, failed: 0 }
  const crew: Crew = {
    totals: nothing,
    members: () =>
      names.map((workerId) => ({
        workerId,
        inFlight: 0,
        currentTask: null,
        draining: false,
        drainAsked: false,
        idleMs: 0,
        tally: nothing,
      })),
    start: () => {
      started += 1
      starts.push(clock.monotonic())
      names.push(`w${started}`)
      return Promise.resolve(`w${started}`)
    },
    drain: (workerId) => {
      names.splice(names.indexOf(workerId), 1)
      return Promise.resolve()
    },
  }
  const changes: PoolChange[] = []
  const pool = new ScalingPool({
    crew,
    limits: limitsOf(limits),
    depth: () => Promise.resolve(0),
    clock,
    timers,
    log: () => undefined,
    resized: () => {
      deaths = 0
    },
  })
  pool.on((change) => changes.push(change))
  /** One of them ends by itself a moment after its start. */
  const die = () => {
    deaths += 1
    const workerId = names.shift() ?? ''
    pool.died({ workerId, how: 'exit code 7', next: decideReplacement(deaths) })
  }
  return { pool, changes, starts, die, clock, elapse: (ms: number) => elapse(environment, ms) }
}

describe('workers of a pool that die (docs/semantics.md 8.2)', () => {
  test('8.2 workers that die at once are replaced later and later, and not at all after ten', async () => {
    const { pool, changes, starts, die, clock, elapse: pass } = poolOfNames({ min: 1, max: 1 })
    await pool.start('below_min')
    pool.open()
    const waits: number[] = []
    for (let death = 1; death <= 9; death++) {
      const diedAt = clock.monotonic()
      die()
      await pass(30_000)
      waits.push((starts.at(-1) ?? 0) - diedAt)
    }
    expect(waits).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600])
    die()
    await pass(600_000)
    expect(changes.at(-1)).toEqual({ type: 'pool.gave_up', size: 0, how: 'exit code 7' })
    expect(starts).toHaveLength(10)
    pool.resize({ min: 2, max: 2 })
    await pass(1)
    expect(pool.stats().totalWorkers).toBe(2)
    await pool.close()
  })
})
