import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/schemas.ts'
import {
  countedGroups,
  decideRetention,
  dueGroups,
  newestOf,
  perState,
} from '../../src/retention/retention.ts'
import type { PrunableRow, RetentionCutoff } from '../../src/retention/row.ts'
import { prunableRow } from '../transition/rows.ts'

const day = 86_400_000
const now = 1_000 * day

function rulesOf(retention: object) {
  const { config } = parseExecutionConfig({ retention })
  if (config.retention === undefined) throw new Error('there are no rules')
  return config.retention
}

const row = (more: Partial<PrunableRow> = {}) => prunableRow({ finishedAt: now - 10 * day, ...more })

describe('the tasks that retention keeps (docs/semantics.md 6.6)', () => {
  test('6.6 the defaults keep completed and canceled tasks for 7 days, and failed ones for 90', () => {
    const rules = rulesOf({})
    const verdicts = (ageMs: number) =>
      (['completed', 'failed', 'canceled'] as const).map((state) =>
        decideRetention(row({ state, finishedAt: now - ageMs }), rules, now),
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
    ['a task with an event that was damaged', { isDamaged: true }, 'damaged'],
    ['the newest task', { isNewest: true }, 'newest'],
    ['a task whose key is still in use', { key: 'k', finishedAt: now - day + 1 }, 'key_in_use'],
    ['a task whose key is free', { key: 'k', finishedAt: now - day }, 'due'],
    ['any other', {}, 'due'],
  ])('6.6 %s', (_, more, expected) => {
    const rules = rulesOf({ completed: { ageMs: 1_000 }, keysMs: day })
    expect(decideRetention(row(more), rules, now)).toBe(expected)
  })

  test('6.6 a parent that is deleted in the same commit keeps no child', () => {
    const gone = (task: number) => task === 3
    expect(decideRetention(row({ parent: 3 }), rulesOf({}), now, [], gone)).toBe('due')
    expect(decideRetention(row({ parent: 4 }), rulesOf({}), now, [], gone)).toBe('has_parent')
  })

  const newest = (more: Partial<RetentionCutoff> = {}): readonly RetentionCutoff[] => [
    { state: 'completed', count: 100, from: 8, ...more },
  ]

  test('6.6 whichever of age and count is reached first counts', () => {
    const rules = rulesOf({ completed: { ageMs: 20 * day, count: 100 } })
    expect(decideRetention(row(), rules, now, newest({ from: 7 }))).toBe('within_rule')
    expect(decideRetention(row(), rules, now, newest())).toBe('due')
    expect(decideRetention(row({ finishedAt: now - 20 * day }), rules, now)).toBe('due')
    const gone = (task: number) => task === 3
    expect(decideRetention(row({ parent: 3 }), rules, now, newest(), gone)).toBe('due')
  })

  test('6.6 a rule of a type takes the place of the general one, its count too', () => {
    const rules = rulesOf({
      completed: { count: 1 },
      types: {
        audit: { completed: 'forever' },
        ping: { completed: { ageMs: 5 } },
        mail: { completed: { count: 50 } },
      },
    })
    const others = newest({ except: ['audit', 'ping', 'mail'] })
    const verdict = (more: Partial<PrunableRow>, known = others) =>
      decideRetention(row(more), rules, now, known)
    expect(verdict({ type: 'audit' })).toBe('within_rule')
    expect(verdict({ type: 'ping', finishedAt: now - 4 })).toBe('within_rule')
    expect(verdict({ type: 'ping', finishedAt: now - 5 })).toBe('due')
    expect(verdict({ type: 'toString' })).toBe('due')
    expect(verdict({ type: 'mail' })).toBe('within_rule')
    expect(verdict({ type: 'mail' }, newest({ type: 'mail' }))).toBe('due')
    expect(verdict({}, newest({ type: 'mail' }))).toBe('within_rule')
  })

  test.each<[string, Partial<RetentionCutoff>, string]>([
    ['of fewer tasks than are kept', { count: 99 }, 'within_rule'],
    ['of more tasks than are kept', { count: 101 }, 'due'],
    ['of another state', { state: 'failed' }, 'within_rule'],
    ['with a type among them that has a rule of its own now', { except: [] }, 'within_rule'],
    ['without a type that had a rule of its own', { except: ['mail', 'audit'] }, 'due'],
  ])('6.6 a count %s is judged by the rules in force', (_, more, expected) => {
    const rules = rulesOf({ completed: { count: 100 }, types: { audit: { completed: 'forever' } } })
    expect(decideRetention(row(), rules, now, newest({ except: ['audit'], ...more }))).toBe(expected)
  })

  test('6.6 each type with a rule of its own is a group, and all others are one', () => {
    const rules = rulesOf({
      completed: { ageMs: 10 * day, count: 9 },
      failed: 'forever',
      canceled: { count: 5 },
      types: { ping: { completed: { ageMs: day }, failed: { count: 2 } }, audit: { canceled: 'forever' } },
    })
    const counted = countedGroups(rules)
    expect(counted).toEqual([
      { state: 'completed', except: ['ping'], count: 9, left: 9 },
      { state: 'failed', type: 'ping', count: 2, left: 2 },
      { state: 'canceled', except: ['audit'], count: 5, left: 5 },
    ])
    const found = counted.map((group, at) => ({ ...group, left: at < 2 ? 0 : 1, from: 4 }))
    expect(newestOf(found)).toEqual([
      { state: 'completed', except: ['ping'], count: 9, from: 4 },
      { state: 'failed', type: 'ping', count: 2, from: 4 },
    ])
    expect(dueGroups(rules, now, newestOf(found))).toEqual([
      { state: 'completed', except: ['ping'], until: now - 10 * day, below: 4 },
      { state: 'completed', type: 'ping', until: now - day },
      { state: 'failed', type: 'ping', below: 4 },
    ])
    expect(dueGroups(rules, now, [])).toEqual([
      { state: 'completed', except: ['ping'], until: now - 10 * day },
      { state: 'completed', type: 'ping', until: now - day },
    ])
  })

  test.each<[string, Partial<RetentionCutoff>, boolean]>([
    ['the same', {}, true],
    ['one of more types that had rules', { except: ['mail', 'audit'] }, true],
    ['of another number', { count: 8 }, false],
    ['of a higher number', { count: 10 }, false],
    ['without the exception', { except: [] }, false],
    ['of a single type', { type: 'ping' }, false],
    ['of another state', { state: 'failed' }, false],
  ])('6.6 a count that was found is used where the rules in force have it: %s', (_, more, used) => {
    const rules = rulesOf({
      completed: { count: 9 },
      failed: 'forever',
      canceled: 'forever',
      types: { audit: { completed: 'forever' } },
    })
    const { except = ['audit'], ...rest } = more
    const found = 'type' in more ? rest : { except, ...rest }
    expect(dueGroups(rules, now, [{ state: 'completed', count: 9, from: 4, ...found }])).toEqual(
      used ? [{ state: 'completed', except: ['audit'], below: 4 }] : [],
    )
  })

  test('6.6 the first of several counts that fits is used, and the state without exceptions has none', () => {
    const rules = rulesOf({ completed: { count: 9 }, failed: 'forever', canceled: 'forever' })
    const found = [8, 9, 9].map((count, at) => ({ state: 'completed', count, from: at }) as const)
    expect(dueGroups(rules, now, found)).toEqual([{ state: 'completed', below: 1 }])
    expect(countedGroups(rules)).toEqual([{ state: 'completed', count: 9, left: 9 }])
    expect(countedGroups(rulesOf({}))).toEqual([])
  })

  test('6.6 a count is over once none is left and its first is known', () => {
    const counted = { state: 'completed', count: 9 } as const
    expect(newestOf([{ ...counted, left: 0 }])).toEqual([])
    expect(newestOf([{ ...counted, left: 1, from: 4 }])).toEqual([])
    expect(newestOf([{ ...counted, left: 0, from: 0 }])).toEqual([{ ...counted, from: 0 }])
    expect(newestOf([])).toEqual([])
  })

  test('6.6 a key is in use to the last ms, also where the count is what ends a task', () => {
    const rules = rulesOf({ completed: { count: 100 }, keysMs: 1_000 })
    const of = (ageMs: number) => row({ key: 'k', finishedAt: now - ageMs })
    expect([999, 1_000].map((ageMs) => decideRetention(of(ageMs), rules, now, newest()))).toEqual([
      'key_in_use',
      'due',
    ])
  })

  test('6.6 a number for each state', () => {
    expect(perState((state) => state.length)).toEqual({ completed: 9, failed: 6, canceled: 8 })
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
      'no age and no count for a type',
      { types: { a: { failed: {} } } },
      'failed',
      "'forever', or an object with ageMs, count or both",
    ],
    ['an unknown state', { rejected: 'forever' }, 'rejected', ''],
  ])('%s is refused, and what is allowed is said', (_, retention, where, allowed) => {
    expect(() => parseExecutionConfig({ retention })).toThrow(where)
    expect(() => parseExecutionConfig({ retention })).toThrow(allowed)
  })
})
