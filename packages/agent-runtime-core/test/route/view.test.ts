import { describe, expect, test } from 'vitest'
import { defaultConfig } from '../../src/config/whole-config.ts'
import { breached, healthyCircuit } from '../../src/route/circuit.ts'
import { swarmRoute } from '../../src/route/observe.ts'
import type { CircuitRow } from '../../src/route/row.ts'
import { routeRecords } from '../../src/route/view.ts'
import { usage } from '../transition/rows.ts'

const { circuitOpenMs } = defaultConfig
const open = (route: string): CircuitRow => ({ ...breached(healthyCircuit, 0), route, probe: null })

describe('how routes stand (docs/semantics.md 10.3)', () => {
  test('10.3 routes with a circuit and routes with live leases come by name, without the swarms', () => {
    const usages = [
      usage({ route: 'c', lease: 1, pressure: 0.2 }),
      usage({ route: 'c', lease: 2, pressure: 0.6 }),
      usage({ route: 'a', lease: null, pressure: 0.9 }),
      usage({ route: swarmRoute('crew'), lease: 3 }),
    ]
    const records = routeRecords(
      [open('b'), open(swarmRoute('ants'))],
      usages,
      new Map(),
      1_000,
      defaultConfig,
    )
    expect(records).toEqual([
      expect.objectContaining({ route: 'a', circuit: 'closed', healthy: true, leases: 0, pressure: 0 }),
      expect.objectContaining({
        route: 'b',
        circuit: 'open',
        healthy: false,
        retryAfterMs: circuitOpenMs - 1_000,
        leases: 0,
      }),
      expect.objectContaining({
        route: 'c',
        retryAfterMs: 0,
        scar: 0,
        leases: 2,
        pressure: 0.4,
        maxPressure: 0.6,
      }),
    ])
    const later = routeRecords([open('b')], [], new Map(), circuitOpenMs, defaultConfig)
    expect(later).toMatchObject([{ circuit: 'half_open', retryAfterMs: 0 }])
  })

  test('10.3 a lease over a soft limit makes its route harder to take, by the time since it was granted', () => {
    const slow = usage({ route: 'a', lease: 1, pressure: 0 }, { soft: { durationMs: 100 } })
    const resistance = (acquired: ReadonlyMap<number, number>) =>
      routeRecords([], [slow], acquired, 1_000, defaultConfig).map((it) => it.resistance)
    const [within = 0] = resistance(new Map([[1, 950]]))
    const [over = 0] = resistance(new Map([[1, 800]]))
    expect(over).toBeGreaterThan(within)
    expect(resistance(new Map())).toEqual([within])
  })
})
