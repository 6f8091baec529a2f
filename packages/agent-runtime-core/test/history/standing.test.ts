import { describe, expect, test } from 'vitest'
import { PATCH_KEY } from '../../src/history/replay.ts'
import type { MemoRow } from '../../src/history/row.ts'
import { standing, standingMemos } from '../../src/history/standing.ts'

type Memo = Pick<MemoRow, 'seq' | 'type' | 'data'>
const memo = (seq: number, type: MemoRow['type'], data: object): Memo => ({
  seq,
  type,
  data: JSON.stringify(data),
})
const sentBack = [{ since: 2, seq: 20 }]

describe('events that count after a rejection (docs/semantics.md 12.6)', () => {
  const kept = [
    memo(1, 'step.completed', { key: 'before' }),
    memo(2, 'step.completed', { key: 'since' }),
    memo(3, 'step.completed', { key: `${PATCH_KEY}new` }),
    memo(4, 'wait.resolved', { key: 'go', kind: 'signal' }),
    memo(5, 'wait.resolved', { key: 'nap', kind: 'timer' }),
    memo(21, 'step.completed', { key: 'after' }),
  ]
  const gone = [
    memo(6, 'step.completed', { key: 'step' }),
    memo(7, 'step.started', { key: `${PATCH_KEY}new` }),
    memo(8, 'step.failed', { key: `${PATCH_KEY}new` }),
    memo(9, 'doubt.inherited', { key: `${PATCH_KEY}new` }),
    memo(10, 'step.completed', {}),
    memo(20, 'wait.resolved', { key: 'ok', kind: 'approval' }),
  ]

  test('12.6 without one all memos do, and with one those of patches, timers and signals', () => {
    const all = [...kept, ...gone]
    const none = () => undefined
    expect(standing(all, [], none)).toEqual(all)
    expect(standing(all, sentBack, none).map(({ seq }) => seq)).toEqual(kept.map(({ seq }) => seq))
    expect(standingMemos(all, sentBack, []).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 21, 20])
  })

  test('12.6 the events of a child count since it was spawned, if the task still has it', () => {
    const child = memo(5, 'child.ended', { key: 'a' })
    const at = (spawned: number | undefined) => standing([child], sentBack, () => spawned).length
    expect([at(undefined), at(4), at(5), at(6)]).toEqual([0, 1, 1, 0])
    const children = (seq: number) => standingMemos([child], sentBack, [{ key: 'a', seq }]).length
    expect([children(5), children(6)]).toEqual([1, 0])
  })
})
