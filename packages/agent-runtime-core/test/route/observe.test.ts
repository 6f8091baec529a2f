import { describe, expect, test } from 'vitest'
import type { Write } from '../../src/store/port.ts'
import {
  breach,
  circuitRefusal,
  leaveScar,
  observeRoute,
  routeEnded,
  routeOf,
  swarmRoute,
  takeProbe,
} from '../../src/route/observe.ts'
import type { CircuitRow } from '../../src/transition.ts'
import { circuit, config, now, type Rows, task, workingSet } from '../transition/rows.ts'

/** Since when a circuit has been open that lets a probe through now; since when the probe is given up. */
const due = now.leaseAt - config.circuitOpenMs
const open = circuit({ state: 'open', openedAt: 0 })
const ready = circuit({ state: 'open', openedAt: due })
const halfOpen = circuit({ state: 'half_open', openedAt: due, probeAt: due + 1 })

const having = (row?: CircuitRow, rows: Rows = {}) =>
  workingSet({ circuits: new Map(row === undefined ? [] : [[row.route, row]]), ...rows })

/** What became of the row of a circuit: undefined where it was not touched, null where it went. */
const written = (ws: ReturnType<typeof having>, { route }: CircuitRow = circuit()) =>
  ws.circuits.changed.has(route) ? (ws.circuits.changed.get(route) ?? null) : undefined

describe('a circuit that takes nothing says why (docs/semantics.md 10.3)', () => {
  test.each([
    ['open', open, false, 20_000, `is open; submit again in 20 s`],
    [
      'half open, with its probe under way',
      halfOpen,
      false,
      0,
      'is half open: a probe is testing whether it works again; submit later',
    ],
    [
      'half open, and what was submitted is delayed',
      ready,
      true,
      0,
      'is half open: its next task is a probe, which must start at once; submit it without a delay',
    ],
  ])('%s: of a route and of a swarm', (_, row, isDelayed, retryAfterMs, message) => {
    const state = row === open ? 'open' : 'half_open'
    const standing = { by: 'circuit', state, scar: 0, retryAfterMs }
    expect(circuitRefusal(having(row), 'work', isDelayed)).toStrictEqual({
      verdict: { ...standing, route: 'work' },
      message: `the circuit of 'work' ${message}`,
    })
    const route = swarmRoute('crew')
    expect(circuitRefusal(having({ ...row, route }), route, isDelayed)).toStrictEqual({
      verdict: { ...standing, swarm: 'crew' },
      message: `the circuit of the swarm 'crew' ${message}`,
    })
  })

  test.each([
    ['a route of which nothing is known', undefined, false],
    ['a closed circuit', circuit(), true],
    ['one that lets a probe through', ready, false],
  ])('%s takes it', (_, row, isDelayed) => {
    expect(circuitRefusal(having(row), 'work', isDelayed)).toBeUndefined()
  })
})

describe('the probe of a circuit (10.3)', () => {
  test('is the task that was admitted where it was open; a closed one needs none', () => {
    const ws = having(ready)
    takeProbe(ws, 'work', 7)
    expect(written(ws)).toStrictEqual({ ...ready, state: 'half_open', probeAt: now.leaseAt, probe: 7 })
    const closed = having(circuit())
    takeProbe(closed, 'work', 7)
    expect(written(closed)).toBeUndefined()
  })

  test.each([
    ['waits in the queue', [{ ...task, state: 'queued', lease: null } as const], 7],
    ['is un-leased work', [], null],
  ])('that %s is given up circuitOpenMs after it was admitted', (_, tasks, probe) => {
    const since = (probeAt: number) => having({ ...halfOpen, probeAt, probe }, { tasks })
    expect(circuitRefusal(since(due + 1), 'work')).toBeDefined()
    const ws = since(due)
    expect(circuitRefusal(ws, 'work')).toBeUndefined()
    takeProbe(ws, 'work', 8)
    expect(written(ws)).toStrictEqual({ ...halfOpen, probeAt: now.leaseAt, probe: 8 })
  })

  test('that runs is waited for, however long it takes', () => {
    const ws = having({ ...halfOpen, probeAt: due - 1, probe: 7 }, { tasks: [task] })
    expect(circuitRefusal(ws, 'work')).toMatchObject({ verdict: { state: 'half_open' } })
  })

  test.each([
    ['succeeds closes it, and there is nothing to remember', 'success', null],
    ['fails opens it anew', 'failure', { ...halfOpen, state: 'open', openedAt: now.leaseAt, probeAt: null }],
    ['is lost leaves its place', 'none', { ...halfOpen, state: 'open', probeAt: null }],
  ] as const)('that %s', (_, how, row) => {
    const ws = having({ ...halfOpen, probe: 7 })
    routeEnded(ws, 'work', 7, how)
    expect(written(ws)).toStrictEqual(row)
  })

  test.each(['success', 'failure', 'none'] as const)('is no other task, which ends with %s', (how) => {
    for (const row of [halfOpen, { ...halfOpen, probe: 8 }, open, { ...open, probe: 7 }]) {
      const ws = having(row)
      routeEnded(ws, 'work', 7, how)
      expect(written(ws)).toBeUndefined()
    }
  })
})

describe('a route is unhealthy until something of it succeeds with the circuit closed (10.3)', () => {
  test.each(['failure', 'none'] as const)('a task that ends with %s heals nothing', (how) => {
    // Also where it was the probe once: a closed circuit has none.
    const ws = having(circuit({ scar: 0.5, probe: 7 }))
    routeEnded(ws, 'work', 7, how)
    expect(written(ws)).toBeUndefined()
  })

  test('a success heals, and its scar is kept while there is one', () => {
    const scarred = having(circuit({ scar: 0.5 }))
    routeEnded(scarred, 'work', 7, 'success')
    expect(written(scarred)).toStrictEqual(circuit({ scar: 0.5, unhealthy: false }))
    const faded = having(circuit())
    routeEnded(faded, 'work', 7, 'success')
    expect(written(faded)).toBeNull()
  })

  test('a route of which nothing is known is not written', () => {
    const ws = having()
    routeEnded(ws, 'work', 7, 'success')
    expect(ws.circuits.changed.size).toBe(0)
  })
})

describe('scars and breaches (10.3)', () => {
  const slow = (factor: number) => ({ as: 'overrun', overrunMs: factor, grantedMs: 5_000 }) as const
  /** With the factor of 5, a thousandth for each ms over. */
  const scar = 0.25

  test('a scar below the limit leaves the probe of a half-open circuit where it is', () => {
    const ws = having({ ...halfOpen, probe: 7 })
    expect(leaveScar(ws, 'work', slow(250))).toBe(scar)
    expect(written(ws)).toStrictEqual({ ...halfOpen, scar, scarAt: now.leaseAt, probe: 7 })
  })

  test('a route that reaches it opens the circuit again and leaves the probe behind; so does a breach', () => {
    const ws = having({ ...halfOpen, probe: 7 })
    expect(leaveScar(ws, 'work', slow(1_000))).toBe(1)
    const opened = { ...halfOpen, state: 'open', openedAt: now.leaseAt, probeAt: null }
    expect(written(ws)).toStrictEqual({ ...opened, scar: 1, scarAt: now.leaseAt })
    const breached = having({ ...halfOpen, probe: 7 })
    breach(breached, 'work')
    expect(written(breached)).toStrictEqual(opened)
  })

  test('a cause that is worth none is none', () => {
    const ws = having()
    expect(leaveScar(ws, 'work', slow(0))).toBe(0)
    expect(ws.circuits.changed.size).toBe(0)
  })
})

test('the route of a task is its type (10)', () => {
  const ws = having()
  expect(routeOf(ws, task)).toBe('work')
})

describe('un-leased work (10.1, C11)', () => {
  const observe = (row?: CircuitRow, it: Partial<Write<'observeRoute'>> = {}, rows: Rows = {}) => {
    const ws = having(row, rows)
    const outcome = observeRoute(ws, { kind: 'observeRoute', route: 'work', baselineMs: 100, ...it })
    return { outcome, row: written(ws) }
  }
  const well = {
    admitted: true,
    probe: false,
    circuit: 'closed',
    healthy: true,
    scar: 0,
    totalScar: 0,
    retryAfterMs: 0,
  }
  const opened = { admitted: false, circuit: 'open', healthy: false }
  const good = { latencyMs: 100 }
  /** Above its baseline by so little that its scar is below the limit. */
  const slow = { latencyMs: 105 }
  const scar = 5 * Math.tanh(0.05)
  const scars = { scar, totalScar: scar }

  describe('that asks', () => {
    test.each([
      ['may go where nothing is known', undefined, well],
      ['may go where the circuit is closed', circuit(), { ...well, healthy: false }],
      ['may not while it is open', open, { ...well, ...opened, retryAfterMs: 20_000 }],
      [
        'may not while a probe is under way',
        { ...halfOpen, probe: 7 },
        { ...well, ...opened, circuit: 'half_open' },
      ],
    ] as const)('%s, and changes nothing', (_, before, outcome) => {
      const said = observe(before, {}, { tasks: [task] })
      expect(said.outcome).toStrictEqual(outcome)
      expect(said.row).toBeUndefined()
    })

    test('is the probe where one is let through', () => {
      const { outcome, row } = observe(ready)
      expect(row).toStrictEqual({ ...ready, state: 'half_open', probeAt: now.leaseAt })
      expect(outcome).toStrictEqual({ ...well, probe: true, circuit: 'half_open', healthy: false })
    })
  })

  describe('that went well', () => {
    test.each([
      ['heals a closed circuit', circuit()],
      ['closes one that waits for un-leased work', halfOpen],
      ['closes one that would let a probe through, also unasked', ready],
    ])('%s', (_, before) => {
      const { outcome, row } = observe(before, good)
      expect(row).toBeNull()
      expect(outcome).toStrictEqual(well)
    })

    test('leaves of a healed route the scar that it has', () => {
      const { outcome, row } = observe(circuit({ scar: 0.5, scarAt: now.leaseAt }), good)
      expect(row).toStrictEqual(circuit({ scar: 0.5, scarAt: now.leaseAt, unhealthy: false }))
      expect(outcome).toStrictEqual({ ...well, totalScar: 0.5 })
    })

    test.each([
      ['open', open, { ...well, ...opened, retryAfterMs: 20_000 }],
      ['half open for a task', { ...halfOpen, probe: 7 }, { ...well, ...opened, circuit: 'half_open' }],
    ] as const)('changes nothing of one that is %s', (_, before, outcome) => {
      const said = observe(before, good, { tasks: [task] })
      expect(said.outcome).toStrictEqual(outcome)
      expect(said.row).toBeUndefined()
    })

    test('writes nothing of a route of which nothing is known', () => {
      const { outcome, row } = observe(undefined, good)
      expect([outcome, row]).toStrictEqual([well, undefined])
    })
  })

  describe('that was slow', () => {
    test.each([
      ['leaves a scar on a route of which nothing was known', undefined, circuit()],
      ['leaves a scar on a closed circuit, which stays closed', circuit(), circuit()],
    ])('%s', (_, before, after) => {
      const { outcome, row } = observe(before, slow)
      expect(row).toStrictEqual({ ...after, scar, scarAt: now.leaseAt })
      expect(outcome).toStrictEqual({ ...well, ...scars, healthy: false })
    })

    test.each([
      ['one that waits for un-leased work', halfOpen],
      ['one that would let a probe through', ready],
    ])('it opens %s again, from now on', (_, before) => {
      const { outcome, row } = observe(before, slow)
      expect(row).toStrictEqual({
        ...circuit({ state: 'open', openedAt: now.leaseAt }),
        scar,
        scarAt: now.leaseAt,
      })
      expect(outcome).toStrictEqual({ ...well, ...opened, ...scars, retryAfterMs: config.circuitOpenMs })
    })

    test.each([
      ['open', open, 20_000],
      ['half open for a task', { ...halfOpen, probe: 7 }, 0],
    ] as const)('leaves its scar, and no more, on one that is %s', (_, before, retryAfterMs) => {
      const { outcome, row } = observe(before, slow, { tasks: [task] })
      expect(row).toStrictEqual({ ...before, scar, scarAt: now.leaseAt })
      expect(outcome).toStrictEqual({
        ...well,
        ...opened,
        ...scars,
        circuit: before.state,
        retryAfterMs,
      })
    })
  })
})
