import { MAX_ARMED_MS, type Timers } from '@ku0/agent-runtime-core'
import { VirtualClock } from '@ku0/agent-runtime-core/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Deadlines } from '../../src/lease/deadlines.ts'

describe('execution: deadlines', () => {
  test('are met in order of their time, those of one time in the order they were added', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ ms: fc.nat(500), cancel: fc.boolean() })), (plans) => {
        const clock = new VirtualClock()
        const deadlines = new Deadlines(clock, clock)
        const met: { ms: number; index: number; at: number }[] = []
        const made = plans.map(({ ms }, index) =>
          deadlines.after(ms, () => met.push({ ms, index, at: clock.monotonic() })),
        )
        for (const [index, { cancel }] of plans.entries()) if (cancel) made[index]?.cancel()
        clock.advanceBy(500)
        const expected = plans
          .map(({ ms, cancel }, index) => ({ ms, index, cancel }))
          .filter(({ cancel }) => !cancel)
          .toSorted((a, b) => a.ms - b.ms || a.index - b.index)
        expect(met).toEqual(expected.map(({ ms, index }) => ({ ms, index, at: ms })))
        expect([deadlines.size, clock.pending]).toEqual([0, 0])
      }),
    )
  })

  test('thousands of them are one timer, and cancelled ones leave nothing', () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock, clock)
    for (let round = 0; round < 5_000; round += 1) {
      const made = [deadlines.after(30_000, () => {}), deadlines.after(60_000, () => {})]
      expect(clock.pending).toBe(1)
      if (round % 10 > 0) for (const deadline of made) deadline.cancel()
      for (const deadline of made) if (round % 10 > 0) deadline.cancel()
    }
    expect(deadlines.size).toBe(1_000)
    deadlines.close()
    expect([deadlines.size, clock.pending]).toEqual([0, 0])
  })

  test('T11 timers of months are kept, armed a minute at a time', () => {
    const clock = new VirtualClock()
    const armed: number[] = []
    const after: Timers['after'] = (delayMs, run) => {
      armed.push(delayMs)
      return clock.after(delayMs, run)
    }
    const deadlines = new Deadlines(clock, { after })
    let met = 0
    deadlines.after(2 ** 31 + 5, () => (met += 1))
    clock.advanceBy(2 ** 31)
    expect(met).toBe(0)
    clock.advanceBy(5)
    expect(met).toBe(1)
    expect(Math.max(...armed)).toBe(MAX_ARMED_MS)
  })

  test('one that is added or cancelled by another is minded', () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock, clock)
    const met: string[] = []
    const doomed = deadlines.after(10, () => met.push('doomed'))
    deadlines.after(5, () => {
      met.push('first')
      doomed.cancel()
      deadlines.after(0, () => met.push('at once'))
    })
    clock.advanceBy(20)
    expect(met).toEqual(['first', 'at once'])
  })

  test('one that is added by another is called in a turn of its own, however soon it is due', () => {
    const clock = new VirtualClock()
    const armed: (() => void)[] = []
    const deadlines = new Deadlines(clock, {
      after: (_, run) => ({ cancel: () => void armed.splice(armed.indexOf(run), 1), at: armed.push(run) }),
    })
    const met: string[] = []
    const fire = () => armed.shift()?.()
    deadlines.after(0, () => {
      met.push('first')
      deadlines.after(0, () => met.push('added'))
    })
    deadlines.after(0, () => met.push('second'))
    fire()
    expect(met).toEqual(['first', 'second'])
    fire()
    expect(met).toEqual(['first', 'second', 'added'])
  })
})
