import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  decideReplacement,
  decideScaling,
  isQuickDeath,
  type PoolLimits,
  type PoolMember,
} from '../../src/index.ts'

const limits: PoolLimits = { min: 1, max: 4, growAt: 5, idleMs: 300_000 }

const idle = (workerId: string, idleMs: number): PoolMember => ({
  workerId,
  inFlight: 0,
  idleMs,
  draining: false,
})
const busy = (workerId: string, inFlight = 1): PoolMember => ({
  workerId,
  inFlight,
  idleMs: 0,
  draining: false,
})

describe('how a pool of workers grows and shrinks (docs/semantics.md 8.1)', () => {
  test('8.1 four queued tasks start no worker, five start one', () => {
    expect(decideScaling({ depth: 4, members: [busy('a')], limits })).toEqual({ do: 'keep' })
    const grown = { do: 'grow', count: 1, why: 'queued' }
    expect(decideScaling({ depth: 5, members: [busy('a')], limits })).toEqual(grown)
  })

  test('8.1 ten queued tasks and one worker: four workers after three passes, and never more', () => {
    const members = [busy('a')]
    const sizes = Array.from({ length: 5 }, () => {
      const scaling = decideScaling({ depth: 10, members, limits })
      if (scaling.do === 'grow') members.push(busy(`w${members.length}`))
      return members.length
    })
    expect(sizes).toEqual([2, 3, 4, 4, 4])
  })

  test('8.1 a worker leaves after more than 300 s without a task, and not at 300 s', () => {
    const members = (ms: number) => [busy('a'), idle('b', ms)]
    expect(decideScaling({ depth: 0, members: members(300_000), limits })).toEqual({ do: 'keep' })
    const left = { do: 'shrink', workerId: 'b', why: 'idle' }
    expect(decideScaling({ depth: 0, members: members(300_001), limits })).toEqual(left)
  })

  test('8.1 no worker leaves while a task is queued', () => {
    const members = [idle('a', 400_000), idle('b', 400_000)]
    expect(decideScaling({ depth: 1, members, limits })).toEqual({ do: 'keep' })
  })

  test('8.1 no worker leaves that has a task, and none where there is none', () => {
    const none = { ...limits, min: 0 }
    const members = [{ ...busy('a'), idleMs: 400_000 }]
    expect(decideScaling({ depth: 0, members, limits: none })).toEqual({ do: 'keep' })
    expect(decideScaling({ depth: 0, members: [], limits: none })).toEqual({ do: 'keep' })
  })

  test('8.1 the worker that was idle for the longest time leaves first, one a pass, down to min', () => {
    const members = [idle('a', 301_000), idle('b', 303_000), idle('c', 302_000)]
    const left: string[] = []
    for (let pass = 0; pass < 4; pass++) {
      const scaling = decideScaling({ depth: 0, members, limits })
      if (scaling.do !== 'shrink') break
      left.push(scaling.workerId)
      members.splice(
        members.findIndex(({ workerId }) => workerId === scaling.workerId),
        1,
      )
    }
    expect(left).toEqual(['b', 'c'])
  })

  test('8.2 dead workers are replaced up to min at once; draining workers count as gone', () => {
    const members = [{ ...busy('a'), draining: true }]
    const scaling = decideScaling({ depth: 0, members, limits: { ...limits, min: 3 } })
    expect(scaling).toEqual({ do: 'grow', count: 3, why: 'below_min' })
  })

  test('8.1 above a lowered max an idle worker leaves, or else the one with the fewest tasks', () => {
    const lowered = { ...limits, max: 1 }
    const one = decideScaling({ depth: 9, members: [busy('a'), idle('b', 5)], limits: lowered })
    expect(one).toEqual({ do: 'shrink', workerId: 'b', why: 'above_max' })
    const other = decideScaling({ depth: 9, members: [busy('a', 3), busy('b', 2)], limits: lowered })
    expect(other).toEqual({ do: 'shrink', workerId: 'b', why: 'above_max' })
  })

  test('8.1 a pass never leaves the limits, whatever it sees', () => {
    const member = fc.record({
      workerId: fc.uuid(),
      inFlight: fc.nat(3),
      idleMs: fc.nat(600_000),
      draining: fc.boolean(),
    })
    const view = fc.record({ depth: fc.nat(20), members: fc.array(member, { maxLength: 8 }), min: fc.nat(4) })
    const staysWithin = fc.property(view, ({ depth, members, min }) => {
      const scaling = decideScaling({ depth, members, limits: { ...limits, min, max: 4 } })
      const active = members.filter(({ draining }) => !draining).length
      const after = active + (scaling.do === 'grow' ? scaling.count : scaling.do === 'shrink' ? -1 : 0)
      const moved = Math.sign(after - active)
      if (active < min) return after === min
      return active > 4 ? moved === -1 : after >= min && after <= 4
    })
    expect(fc.check(staysWithin).counterexample).toBeNull()
  })
})

describe('when a pool replaces a worker that died (docs/semantics.md 8.2)', () => {
  test('8.2 at once, then later and later up to 30 s, and after ten quick deaths not at all', () => {
    const delays = [0, 1, 2, 3, 9].map((deaths) => decideReplacement(deaths))
    expect(delays).toEqual([0, 100, 200, 400, 25_600].map((afterMs) => ({ afterMs })))
    expect(decideReplacement(10)).toBe('give_up')
  })

  test('8.2 a worker died of what it is if it ended no task, and lived for less than 10 s', () => {
    expect(isQuickDeath({ livedMs: 9_999, ended: 0 })).toBe(true)
    expect(isQuickDeath({ livedMs: 10_000, ended: 0 })).toBe(false)
    expect(isQuickDeath({ livedMs: 1, ended: 1 })).toBe(false)
  })
})
