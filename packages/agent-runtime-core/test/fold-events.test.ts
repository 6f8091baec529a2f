import { describe, expect, test } from 'vitest'
import type { EventType } from '../src/event.ts'
import { foldEvents } from '../src/fold-events.ts'

/** A task that is claimed again and again, under these tokens. */
function problemsWith(tokens: readonly number[], fenceFloors?: readonly number[]): readonly string[] {
  const event = (type: EventType, data: object) => ({ type, data: JSON.stringify(data) })
  const claims = tokens.flatMap((fencingToken) => [
    event('task.started', { fencingToken, attempt: 1 }),
    event('task.requeued', { reason: 'yielded', attempt: 1 }),
  ])
  const all = [event('task.queued', { type: 'work', lane: 'normal', input: 1 }), ...claims]
  return foldEvents(
    all.map((it, index) => ({ ...it, seq: index + 1, at: 1 })),
    fenceFloors,
  ).problems
}

describe('the fencing tokens of a history (docs/reliability.md I10, D25)', () => {
  test('rise by one with each claim', () => {
    expect(problemsWith([1, 2, 3])).toEqual([])
    expect(problemsWith([1, 3])).toEqual(['I10 start 4 has fencing token 3, not 2'])
    expect(problemsWith([1, 1])).toEqual(['I10 start 4 has fencing token 1, not 2'])
  })

  test('and go on above the floor of an incarnation, once', () => {
    const floors = [100, 200]
    for (const tokens of [
      [1, 2, 101, 102],
      [101, 201, 202],
      [1, 201],
    ])
      expect(problemsWith(tokens, floors)).toEqual([])
    expect(problemsWith([1, 102], floors)).toEqual(['I10 start 4 has fencing token 102, not 101'])
    expect(problemsWith([201, 102], floors)).toEqual(['I10 start 4 has fencing token 102, not 202'])
  })
})
