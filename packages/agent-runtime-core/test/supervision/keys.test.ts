import { describe, expect, test } from 'vitest'
import {
  afterIn,
  afterKey,
  type SupervisedChild,
  supervisedIn,
  supervisedKey,
  type SupervisorTerms,
  supervisorKey,
  supervisorTerms,
} from '../../src/supervision/supervision.ts'

describe('the keys of supervisors (docs/semantics.md 14.1, 14.2)', () => {
  test.each<SupervisorTerms>([
    { strategy: 'one_for_one', maxRestarts: 0, periodMs: 1, endsWith: 'children' },
    { strategy: 'rest_for_one', maxRestarts: 3, periodMs: 5_000, endsWith: 'cancel' },
  ])('14.1 %j stand in the key of its wait', (terms) => {
    const key = supervisorKey(terms)
    expect(supervisorTerms(key)).toEqual(terms)
    expect(supervisorTerms(`a${key}`)).toBeUndefined()
    expect(supervisorTerms(key.replace(terms.strategy, 'all'))).toBeUndefined()
    expect(supervisorTerms(key.replace(terms.endsWith, 'never'))).toBeUndefined()
  })

  test.each<SupervisedChild>([
    { id: 'a', restart: 'permanent' },
    { id: 'a/b', restart: 'temporary' },
  ])('14.1 %j stands in the key of the child', (child) => {
    const key = supervisedKey(child)
    expect(supervisedIn(key)).toEqual(child)
    expect(supervisedIn(`a${key}`)).toBeUndefined()
    expect(supervisedIn(key.replace(child.restart, 'often'))).toBeUndefined()
  })

  test('14.2 the children that have to come before a child stand in the key of the wait for it', () => {
    const after = [
      { id: 'a', restart: 'permanent', until: 'ready' },
      { id: 'b', restart: 'transient', until: 'completed' },
    ] as const
    const key = afterKey(2, 'c', after)
    expect(afterIn(key)).toEqual({ id: 'c', after })
    expect(afterIn(afterKey(0, 'c', []))).toEqual({ id: 'c', after: [] })
    expect(afterIn(`a${key}`)).toBeUndefined()
    expect(afterIn(`${key}/ready/permanent`)).toEqual({ id: 'c', after })
    for (const [part, other] of [
      ['ready/', 'soon/'],
      ['permanent/', 'often/'],
    ] as const)
      expect(afterIn(key.replace(part, other))).toEqual({ id: 'c', after: after.slice(1) })
  })
})
