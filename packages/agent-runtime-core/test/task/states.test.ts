import { describe, expect, test } from 'vitest'
import { InvalidTransition } from '../../src/error/errors.ts'
import {
  assertMove,
  canMove,
  canMoveLease,
  isFinal,
  leaseMoves,
  leaseStates,
  taskMoves,
  type TaskState,
  taskStates,
} from '../../src/task/states.ts'

/** The table of docs/semantics.md 1.1, written out once more. */
const legal = new Set([
  'queued > running',
  'queued > canceled',
  'queued > failed',
  'running > canceled',
  'waiting > canceled',
  'running > completed',
  'running > failed',
  'running > queued',
  'running > waiting',
  'waiting > queued',
  'waiting > failed',
])
const pairs = taskStates.flatMap((from) => taskStates.map((to): [TaskState, TaskState] => [from, to]))

/** What a move is refused with; undefined when it is not. */
function refusal(from: TaskState, to: TaskState): unknown {
  try {
    assertMove(from, to)
    return undefined
  } catch (error) {
    return error
  }
}

describe('the states of a task (docs/semantics.md 1.1, 1.2)', () => {
  test('1.1 are these seven', () => {
    expect(taskStates).toEqual([
      'queued',
      'running',
      'waiting',
      'completed',
      'failed',
      'canceled',
      'rejected',
    ])
  })

  test.each(pairs)('1.2 %s to %s', (from, to) => {
    const allowed = legal.has(`${from} > ${to}`)
    expect(canMove(from, to)).toBe(allowed)
    expect(refusal(from, to) instanceof InvalidTransition).toBe(!allowed)
  })

  test('1.2 a refusal says from, to and what would have been expected', () => {
    expect(refusal('queued', 'completed')).toMatchObject({
      code: 'invalid_transition',
      from: 'queued',
      to: 'completed',
      expected: ['running', 'canceled', 'failed'],
    })
    expect(refusal('completed', 'queued')).toMatchObject({ from: 'completed', expected: [] })
  })

  test('1.1 the last four are final, and only they have no way out', () => {
    expect(taskStates.filter(isFinal)).toEqual(['completed', 'failed', 'canceled', 'rejected'])
    expect(taskStates.filter((state) => taskMoves[state].length === 0)).toEqual(taskStates.filter(isFinal))
  })

  test('1.1 every state but the first and rejected is reached from another, and all from queued', () => {
    const reached = new Set<TaskState>(['queued'])
    for (const from of reached) for (const to of taskMoves[from]) reached.add(to)
    expect(taskStates.filter((state) => !reached.has(state))).toEqual(['rejected'])
  })
})

describe('the states of a lease (docs/semantics.md 1.4)', () => {
  test('1.4 running ends as completed, failed or canceled, and nothing else moves', () => {
    expect(leaseStates).toEqual(['running', 'completed', 'failed', 'canceled'])
    for (const from of leaseStates)
      for (const to of leaseStates)
        expect([from, to, canMoveLease(from, to)]).toEqual([from, to, from === 'running' && to !== 'running'])
    expect(Object.keys(leaseMoves)).toEqual([...leaseStates])
  })
})
