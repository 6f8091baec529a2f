import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/schemas.ts'
import { decideRetention, excessOf, latestEnds } from '../../src/retention/retention.ts'
import type { PrunableRow } from '../../src/retention/row.ts'

const day = 86_400_000
const now = 1_000 * day

function rulesOf(retention: object) {
  const { config } = parseExecutionConfig({ retention })
  if (config.retention === undefined) throw new Error('there are no rules')
  return config.retention
}

const row = (more: Partial<PrunableRow> = {}): PrunableRow => ({
  id: 7,
  state: 'completed',
  type: 'work',
  finishedAt: now - 10 * day,
  seq: 3,
  parent: null,
  hasOpenChildren: false,
  isLastRun: false,
  isNewest: false,
  key: null,
  leases: [],
  blobs: [],
  hashes: new Uint8Array(),
  sums: new Map(),
  named: new Map(),
  ...more,
})

describe('the tasks that retention keeps (docs/semantics.md 6.6)', () => {
  test('6.6 the defaults keep completed and canceled tasks for 7 days, and failed ones for 90', () => {
    const rules = rulesOf({})
    const verdicts = (ageMs: number) =>
      (['completed', 'failed', 'canceled'] as const).map((state) =>
        decideRetention(row({ state, finishedAt: now - ageMs }), rules, now, 0),
      )
    expect(verdicts(7 * day - 1)).toEqual(['within_rule', 'within_rule', 'within_rule'])
    expect(verdicts(7 * day)).toEqual(['due', 'within_rule', 'due'])
    expect(verdicts(90 * day - 1)).toEqual(['due', 'within_rule', 'due'])
    expect(verdicts(90 * day)).toEqual(['due', 'due', 'due'])
  })

  test.each<[string, Partial<PrunableRow>, string]>([
    ['a task whose parent is there', { parent: 3 }, 'has_parent'],
    ['a task with a child that has not ended', { hasOpenChildren: true }, 'has_open_children'],
    ['the last run of a schedule', { isLastRun: true }, 'last_run'],
    ['the newest task', { isNewest: true }, 'newest'],
    ['a task whose key is still in use', { key: 'k', finishedAt: now - day + 1 }, 'key_in_use'],
    ['a task whose key is free', { key: 'k', finishedAt: now - day }, 'due'],
    ['any other', {}, 'due'],
  ])('6.6 %s', (_, more, expected) => {
    const rules = rulesOf({ completed: { ageMs: 1_000 }, keysMs: day })
    expect(decideRetention(row(more), rules, now, 0)).toBe(expected)
  })

  test('6.6 a parent that is deleted in the same commit keeps no child', () => {
    const gone = (task: number) => task === 3
    expect(decideRetention(row({ parent: 3 }), rulesOf({}), now, 0, gone)).toBe('due')
    expect(decideRetention(row({ parent: 4 }), rulesOf({}), now, 0, gone)).toBe('has_parent')
  })

  test('6.6 whichever of age and count is reached first counts', () => {
    const rules = rulesOf({ completed: { ageMs: 20 * day, count: 100 } })
    expect(decideRetention(row(), rules, now, 0)).toBe('within_rule')
    expect(decideRetention(row(), rules, now, 1)).toBe('due')
    expect(excessOf(rules, { completed: 103, failed: 9, canceled: 9 })).toEqual({
      completed: 3,
      failed: 0,
      canceled: 0,
    })
    expect(excessOf(rules, { completed: 99, failed: 9, canceled: 9 }).completed).toBe(0)
  })

  test('6.6 a rule of a type takes the place of the general one, its count too', () => {
    const rules = rulesOf({
      completed: { count: 1 },
      types: { audit: { completed: 'forever' }, ping: { completed: { ageMs: 5 } } },
    })
    expect(decideRetention(row({ type: 'audit' }), rules, now, 5)).toBe('within_rule')
    expect(decideRetention(row({ type: 'ping', finishedAt: now - 4 }), rules, now, 5)).toBe('within_rule')
    expect(decideRetention(row({ type: 'ping', finishedAt: now - 5 }), rules, now, 0)).toBe('due')
    expect(decideRetention(row({ type: 'toString' }), rules, now, 1)).toBe('due')
  })

  test('6.6 a task that ended later than any rule reaches is not looked at', () => {
    const none = { completed: 0, failed: 0, canceled: 0 }
    const rules = rulesOf({
      completed: { ageMs: 10 * day },
      failed: 'forever',
      canceled: { count: 5 },
      types: { ping: { completed: { ageMs: day } } },
    })
    expect(latestEnds(rules, now, none)).toEqual({ completed: now - day, failed: -1, canceled: -1 })
    expect(latestEnds(rules, now, { ...none, canceled: 1 }).canceled).toBe(now)
  })

  test.each([
    [
      'no age and no count',
      { completed: {} },
      'completed',
      "'forever', or an object with ageMs, count or both",
    ],
    ['an age of 0', { failed: { ageMs: 0 } }, 'failed', "'forever', or an object with ageMs, count or both"],
    [
      'a count for a type',
      { types: { a: { failed: { count: 1 } } } },
      'failed',
      "'forever', or an object with ageMs",
    ],
    ['an unknown state', { rejected: 'forever' }, 'rejected', ''],
  ])('%s is refused, and what is allowed is said', (_, retention, where, allowed) => {
    expect(() => parseExecutionConfig({ retention })).toThrow(where)
    expect(() => parseExecutionConfig({ retention })).toThrow(allowed)
  })
})
