import { describe, expect, test } from 'vitest'
import {
  breached,
  circuitStateAt,
  decideCircuit,
  healthyCircuit,
  isForgotten,
  probed,
  probing,
  scarred,
} from '../../src/route/circuit.ts'

const settings = { circuitScarLimit: 1, circuitOpenMs: 30_000 }
const at = (it: typeof healthyCircuit, now: number) => decideCircuit(it, now, settings)

describe('10.3 the circuit of a route', () => {
  test('10.3 a route of which nothing is known takes everything', () => {
    expect(at(healthyCircuit, 0)).toEqual({ admitted: true, probe: false })
    expect(isForgotten(healthyCircuit, 0)).toBe(true)
  })

  test('10.3 scars add up, fade meanwhile, and open it at 1', () => {
    const once = scarred(healthyCircuit, 0.9, 0, settings)
    expect(once.state).toBe('closed')
    expect(scarred(once, 0.09, 0, settings).state).toBe('closed')
    expect(scarred(once, 0.1, 0, settings)).toMatchObject({ state: 'open', openedAt: 0 })
    expect(scarred(once, 0.5, 10_000, settings).state).toBe('closed')
  })

  test('10.3 a hard breach opens it whatever its scar', () => {
    const open = breached(healthyCircuit, 5)
    expect(open).toMatchObject({ state: 'open', scar: 0, openedAt: 5, unhealthy: true })
    expect(at(open, 5)).toEqual({ admitted: false, retryAfterMs: 30_000, probing: false })
  })

  test('10.3 after 30 s one probe is admitted, and no other beside it', () => {
    const open = breached(healthyCircuit, 0)
    expect(at(open, 29_999)).toMatchObject({ admitted: false, retryAfterMs: 1 })
    expect(at(open, 30_000)).toEqual({ admitted: true, probe: true })
    expect(at(probing(open, 30_000), 90_000)).toMatchObject({ admitted: false, probing: true })
  })

  test('10.3 while the scar is 1 or more there is no probe, also after 30 s', () => {
    const open = scarred(healthyCircuit, 100, 0, settings)
    const { retryAfterMs } = at(open, 30_000) as { retryAfterMs: number }
    expect(retryAfterMs).toBeGreaterThan(0)
    expect(at(open, 30_000 + retryAfterMs)).toEqual({ admitted: true, probe: true })
    expect(at(open, 30_000 + retryAfterMs - 2)).toMatchObject({ admitted: false })
  })

  test('10.3 a circuit that would let a probe through is reported as half open', () => {
    const stateAt = (it: typeof healthyCircuit, now: number) => circuitStateAt(it, now, settings)
    const open = scarred(healthyCircuit, 100, 0, settings)
    const { retryAfterMs } = at(open, 0) as { retryAfterMs: number }
    expect(stateAt(healthyCircuit, 0)).toBe('closed')
    expect([stateAt(open, 30_000), stateAt(open, retryAfterMs - 2)]).toEqual(['open', 'open'])
    expect(stateAt(open, retryAfterMs)).toBe('half_open')
    expect(stateAt(probing(open, retryAfterMs), retryAfterMs)).toBe('half_open')
  })

  test('10.3 a scar of 1 opens it again once it would let a probe through, and not before', () => {
    const open = scarred(healthyCircuit, 1, 0, settings)
    expect(scarred(open, 1, 29_999, settings)).toMatchObject({ state: 'open', openedAt: 0 })
    expect(scarred(open, 0.9, 30_000, settings)).toMatchObject({ state: 'open', openedAt: 0 })
    const anew = scarred(open, 1, 30_000, settings)
    expect(anew).toMatchObject({ state: 'open', openedAt: 30_000 })
    expect(at(anew, 59_999)).toMatchObject({ admitted: false, retryAfterMs: 1 })
  })

  test('10.3 the probe’s success closes it, its failure opens it again, a probe without an end leaves its place', () => {
    const half = probing(breached(healthyCircuit, 0), 30_000)
    expect(at(probed(half, 'success', 40_000), 40_000)).toEqual({ admitted: true, probe: false })
    expect(at(probed(half, 'failure', 40_000), 69_999)).toMatchObject({ admitted: false })
    expect(at(probed(half, 'none', 40_000), 40_000)).toEqual({ admitted: true, probe: true })
  })

  test('10.3 a route that has healed and faded is forgotten', () => {
    const well = probed(probing(scarred(healthyCircuit, 1, 0, settings), 30_000), 'success', 40_000)
    expect(isForgotten(well, 40_000)).toBe(false)
    expect(isForgotten(well, 80_000)).toBe(true)
    expect(isForgotten(scarred(healthyCircuit, 0.01, 0, settings), 80_000)).toBe(false)
  })
  test('10.3 a failed probe leaves its route unhealthy, a good one does not, one without an end changes nothing', () => {
    const half = { ...healthyCircuit, state: 'half_open', openedAt: 0, probeAt: 5 } as const
    expect(probed(half, 'failure', 9)).toStrictEqual({
      ...half,
      state: 'open',
      openedAt: 9,
      probeAt: null,
      unhealthy: true,
    })
    expect(probed({ ...half, unhealthy: true }, 'success', 9)).toStrictEqual(healthyCircuit)
    expect(probed(half, 'none', 9)).toStrictEqual({ ...half, state: 'open', probeAt: null })
  })

  test.each([
    ['a closed one without a scar is', {}, true],
    ['an open one is not, whatever its scar', { state: 'open', openedAt: 0 } as const, false],
    ['an unhealthy one is not', { unhealthy: true }, false],
    ['one with a scar of 0.001 is not', { scar: 0.001, scarAt: 9 }, false],
    ['one with a smaller scar is', { scar: 0.00099, scarAt: 9 }, true],
  ])('10.3 %s forgotten', (_, more, isGone) => {
    expect(isForgotten({ ...healthyCircuit, ...more }, 9)).toBe(isGone)
  })
})
