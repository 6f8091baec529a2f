import { describe, expect, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { twoProcesses } from '../helpers/two-processes.ts'

const fiveMinutes = 300_000

describe('two processes on one file, with wall clocks that differ (docs/semantics.md 4.7)', () => {
  for (const skews of draws<readonly (readonly [number, number])[]>(
    [],
    [
      [fiveMinutes, -fiveMinutes],
      [-fiveMinutes, fiveMinutes],
      [0, fiveMinutes],
      [0, -fiveMinutes],
    ],
  ))
    test(`4.7 with wall clocks off by ${skews.join(' and ')} ms, a lease that is renewed is taken from nobody`, async () => {
      const [{ scene: a }, { scene: b }] = await twoProcesses({ skews })
      await a.worker('a', 1)
      await b.worker('b', 1)
      await a.submitMany(2)
      await a.pass(100_000)
      expect([...a.claims, ...b.claims]).toHaveLength(2)
      expect([...a.notices, ...b.notices]).toEqual([])
      for (const scene of [a, b])
        for (const claim of scene.claims) expect(await scene.settle(claim)).toBe('ok')
    })

  for (const skews of everyNth(
    [
      [fiveMinutes, -fiveMinutes],
      [-fiveMinutes, fiveMinutes],
    ] as const,
    draws(2, 1),
  ))
    test(`4.7 with wall clocks off by ${skews.join(' and ')} ms, one that is not renewed expires after its TTL and one tick`, async () => {
      const [first, { scene: b }] = await twoProcesses({ skews })
      const a = first.scene
      await a.worker('a', 1)
      const taskId = await a.accepted()
      const claim = await a.claim()
      await b.worker('b', 1)
      first.stop()
      const left = claim.expiresAt - claim.acquiredAt
      await b.pass(left - 1)
      expect(await b.state(taskId)).toBe('running')
      await b.pass(101)
      expect(await b.claim()).toMatchObject({ taskId, attempt: 2, crashes: 1, fencingToken: 2 })
      const [lease] = await b.read({ kind: 'leases', taskId })
      expect(lease).toMatchObject({ status: 'failed', endReason: 'expired', workerId: 'a' })

      first.wake()
      expect(await a.settle(claim, { as: 'completed', output: '"late"' })).toBe('stale')
      expect(a.notices).toMatchObject([
        { leaseId: claim.leaseId, taskId, verdict: 'lost', reason: 'expired' },
      ])
      expect(await b.settle(b.claims[0], { as: 'completed', output: '"in time"' })).toBe('ok')
      expect(await a.task(taskId)).toMatchObject({ state: 'completed', output: '"in time"' })
    })

  test('B04 4.7 both judge a lease alike, to the millisecond', async () => {
    const [first, second] = await twoProcesses({ skews: [fiveMinutes, -fiveMinutes] })
    await first.scene.worker('a', 1)
    await first.scene.accepted()
    const claim = await first.scene.claim()
    first.stop()
    second.stop()
    await first.scene.jump(claim.expiresAt - claim.acquiredAt - 1)
    second.wake()
    expect(await second.scene.cancel('nobody')).toEqual({ canceled: false })
    expect(await second.scene.state(claim.taskId)).toBe('running')
    await first.scene.jump(1)
    first.wake()
    expect(await first.scene.settle(claim)).toBe('stale')
  })

  const delays = [
    { skews: [0, 0], alone: 60_000, together: 60_000 },
    // Of two clocks the one that shows the time first is believed.
    { skews: [fiveMinutes, 0], alone: fiveMinutes + 60_000, together: 60_000 },
    { skews: [-fiveMinutes, 0], alone: 0, together: 0 },
  ] as const
  test.each(everyNth(delays, draws(4, 1)))(
    '4.7 a delay of 60 s is counted by the wall clock of who submits, and over when that of anybody shows it: $skews',
    async ({ skews, alone, together }) => {
      for (const [submitterStops, afterMs] of [
        [true, alone],
        [false, together],
      ] as const) {
        const [first, { scene: b }] = await twoProcesses({ skews })
        await b.worker('b', 1)
        await first.scene.accepted({ delayMs: 60_000 })
        if (submitterStops) first.stop()
        if (afterMs > 0) await b.pass(afterMs - 1)
        const early = afterMs > 0 && (await b.hasClaim())
        expect(early).toBe(false)
        await b.pass(200)
        expect(await b.hasClaim()).toBe(true)
        if (submitterStops) first.wake()
      }
    },
  )

  for (const [id, jump] of everyNth(
    [
      ['C02', -3_600_000],
      ['C01', 3_600_000],
    ] as const,
    draws(2, 1),
  )) {
    test(`${id} a wall clock that jumps by ${jump} ms moves no lease: who renews keeps it, who does not loses it after its TTL`, async () => {
      const [first, { scene: b }] = await twoProcesses()
      const { scene: a } = first
      await a.worker('a', 1)
      const taskId = await a.accepted()
      const claim = await a.claim()
      b.clock.skew = jump
      await a.pass(100_000)
      expect([...a.notices, ...b.notices]).toEqual([])
      expect(await a.stats()).toMatchObject({ running: 1, totals: { expired: 0 } })
      first.stop()
      b.clock.skew += jump
      await b.worker('b', 1)
      await b.pass(24_900)
      expect(await b.state(taskId)).toBe('running')
      await b.pass(5_200)
      expect(await b.claim()).toMatchObject({ taskId, attempt: 2 })
      first.wake()
      expect(await a.settle(claim)).toBe('stale')
    })

    test(`${id} after a jump by ${jump} ms what is due by the wall clock starts within a tick`, async () => {
      const [{ scene: a }] = await twoProcesses()
      await a.worker('a', 2)
      await a.submit({ delayMs: 600_000 })
      const due = a.now + 600_000
      a.clock.skew = jump
      const left = Math.max(0, due - a.now)
      if (left > 0) await a.jump(left - 1)
      expect(await a.hasClaim()).toBe(false)
      await a.pass(jump > 0 ? 101 : 1)
      expect(await a.hasClaim()).toBe(true)
    })
  }
})
