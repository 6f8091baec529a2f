import { describe, expect, test } from 'vitest'
import { defaultConfig } from '../../src/config/whole-config.ts'
import { cancelReason, errorSummary, failureReason } from '../../src/explain/ended.ts'
import { breached, healthyCircuit } from '../../src/route/circuit.ts'
import type { CircuitRow } from '../../src/route/row.ts'

type Failed = Parameters<typeof failureReason>[1]
type Canceled = Parameters<typeof cancelReason>[0]

const failureOf = (kind: Failed['kind'], error: unknown, circuit?: CircuitRow, at = 0) =>
  failureReason(
    { attempt: 3, crashes: 1 },
    { kind, error: JSON.stringify(error) } as Failed,
    circuit,
    at,
    defaultConfig,
  )

describe('why a task failed', () => {
  test('by its kind, its error, and how often it was tried', () => {
    expect(failureOf('error', { name: 'Error', message: 'no', code: 'ENOENT' })).toEqual({
      kind: 'error',
      message: 'no',
      code: 'ENOENT',
      attempt: 3,
      crashes: 1,
    })
  })

  test('by at most five causes, the outermost first', () => {
    const nested = (depth: number): object => ({
      message: `cause ${depth}`,
      ...(depth === 7 ? {} : { cause: nested(depth + 1) }),
    })
    expect(failureOf('error', nested(0)).causes).toEqual(
      [1, 2, 3, 4, 5].map((depth) => ({ message: `cause ${depth}` })),
    )
    expect(failureOf('error', { message: 'no', cause: 'text' })).not.toHaveProperty('causes')
  })

  test('an error in short is its first line, at most 300 characters, and its code if that is a text', () => {
    expect(errorSummary({ message: '  first\r\nsecond', code: 5 })).toEqual({ message: 'first' })
    expect(errorSummary({ message: 'first\nsecond' })).toEqual({ message: 'first' })
    expect(errorSummary({ message: 'x'.repeat(300) })).toEqual({ message: 'x'.repeat(300) })
    expect(errorSummary({ message: 'x'.repeat(301) })).toEqual({ message: `${'x'.repeat(300)}…` })
    expect(errorSummary({ message: 5 })).toEqual({ message: '' })
    expect(errorSummary('text')).toEqual({ message: '' })
  })

  test('11.5 by the budget that was exceeded', () => {
    const details = { budget: 'above', field: 'tokens', limit: 9, used: 10 }
    const budgetOf = (given: unknown) =>
      failureOf('budget_exceeded', { message: 'no', details: given }).budget
    const told = { taskId: 'above', field: 'tokens', limit: 9, used: 10 }
    expect(budgetOf({ ...details, stopped: true })).toEqual({ ...told, stopped: true })
    expect(budgetOf(details)).toEqual({ ...told, stopped: false })
    for (const other of [{ budget: 1 }, { limit: '9' }, { used: '10' }])
      expect(budgetOf({ ...details, ...other })).toBeUndefined()
    expect(budgetOf(null)).toBeUndefined()
    expect(budgetOf('text')).toBeUndefined()
    expect(failureOf('error', { message: 'no', details })).not.toHaveProperty('budget')
  })

  test('10.3 by the circuit of its route, unless that is closed', () => {
    const row: CircuitRow = { ...breached(healthyCircuit, 0), route: 'lane:batch', probe: null }
    expect(failureOf('error', { message: 'no' }, row, 1_000).circuit).toEqual({
      route: 'lane:batch',
      state: 'open',
      scar: expect.any(Number),
      retryAfterMs: defaultConfig.circuitOpenMs - 1_000,
    })
    const closed = { ...healthyCircuit, route: 'lane:batch', probe: null }
    expect(failureOf('error', { message: 'no' }, closed)).not.toHaveProperty('circuit')
    expect(failureOf('error', { message: 'no' }, row, defaultConfig.circuitOpenMs).circuit).toMatchObject({
      state: 'half_open',
      retryAfterMs: 0,
    })
  })
})

describe('the one who canceled a task is named', () => {
  const by = (reason: string | undefined, rest: object = {}) =>
    cancelReason({ ...(reason === undefined ? {} : { reason }), ...rest } as Canceled)
  const parent = { parent: 'above' }
  const swarm = { swarm: 'ants' }

  test.each<[string | undefined, object, object]>([
    [undefined, parent, { by: 'caller' }],
    ['no need', {}, { by: 'caller' }],
    ['no need', parent, { by: 'caller' }],
    ['a budget above it was exceeded', parent, { by: 'budget', parent: 'above' }],
    ['a budget above it was exceeded', {}, { by: 'caller' }],
    ['its branch was given up', parent, { by: 'branch', parent: 'above' }],
    ['its parent was sent back', parent, { by: 'branch', parent: 'above' }],
    ['its parent was canceled', parent, { by: 'parent', parent: 'above' }],
    ['its parent has failed', parent, { by: 'parent', parent: 'above' }],
    ['say: its parent has failed', parent, { by: 'caller' }],
    ["the swarm 'ants' ended", swarm, { by: 'swarm', swarm: 'ants' }],
    ["shed: the swarm 'ants' has no room", { ...swarm, ...parent }, { by: 'swarm', swarm: 'ants' }],
    ["say: the swarm 'ants' ended", swarm, { by: 'caller' }],
    ["the swarm 'ants' ended", {}, { by: 'caller' }],
    ['its branch was given up', { ...swarm, ...parent }, { by: 'branch', parent: 'above' }],
  ])('%s, of %j: %j', (reason, rest, expected) => {
    expect(by(reason, rest)).toEqual(expected)
  })
})
