import {
  labelsWithShutdown,
  MAX_SHUTDOWN_MS,
  SHUTDOWN_LABEL,
  shutdownIn,
} from '../../src/supervision/shutdown.ts'
import { describe, expect, test } from 'vitest'
import { decideRestart, type RestartCase } from '../../src/supervision/decide.ts'
import {
  childRestarts,
  supervisedIn,
  supervisedKey,
  supervisionStrategies,
  supervisorEnds,
  supervisorKey,
  supervisorTerms,
} from '../../src/supervision/supervision.ts'

const child = (id: string, changes: Partial<RestartCase['children'][number]> = {}) =>
  ({ id, restart: 'transient', isOpen: true, ...changes }) as const
const failed: RestartCase = {
  strategy: 'one_for_one',
  maxRestarts: 5,
  periodMs: 60_000,
  children: [child('a'), child('b'), child('c'), child('d')],
  ended: 'b',
  how: 'failed',
  times: [],
  now: 1_000,
}

describe('the decision of a supervisor about the end of a child', () => {
  test.each([
    ['one_for_one', [], ['b']],
    ['one_for_all', ['d', 'c', 'a'], ['a', 'b', 'c', 'd']],
    ['rest_for_one', ['d', 'c'], ['b', 'c', 'd']],
  ] as const)('14.1 %s: stopped in reverse, started in order', (strategy, stop, start) => {
    expect(decideRestart({ ...failed, strategy })).toEqual({ as: 'restart', stop, start, times: [1_000] })
  })

  test.each([
    ['permanent', 'failed', 'restart'],
    ['permanent', 'completed', 'restart'],
    ['permanent', 'canceled', 'leave'],
    ['transient', 'failed', 'restart'],
    ['transient', 'completed', 'leave'],
    ['transient', 'canceled', 'leave'],
    ['temporary', 'failed', 'leave'],
    ['temporary', 'completed', 'leave'],
    ['temporary', 'canceled', 'leave'],
  ] as const)('14.1 a %s child that %s: %s', (restart, how, as) => {
    expect(decideRestart({ ...failed, how, children: [child('b', { restart })] }).as).toBe(as)
  })

  test('14.1 temporary children are stopped with the others and not started; what has ended stays ended', () => {
    const children = [child('a', { restart: 'temporary' }), child('b'), child('c', { isOpen: false })]
    expect(decideRestart({ ...failed, strategy: 'one_for_all', children })).toMatchObject({
      stop: ['a'],
      start: ['b'],
    })
  })

  test.each([
    [60_000, 'escalate'],
    [60_001, 'restart'],
  ] as const)('14.2 5 in 60 s: the sixth, at %i ms, is %s', (now, as) => {
    const decision = decideRestart({ ...failed, times: [0, 10, 20, 30, 40], now })
    expect(decision.as).toBe(as)
    expect(decision).toMatchObject({
      times: as === 'restart' ? [10, 20, 30, 40, 60_001] : [0, 10, 20, 30, 40, now],
    })
  })

  test('14.2 with a maximum of 0 the first failure is too many', () => {
    expect(decideRestart({ ...failed, maxRestarts: 0 })).toEqual({ as: 'escalate', times: [1_000] })
  })

  test('14.2 the trees of the paper: the pipeline takes the supervisor along, an agent takes nobody', () => {
    const application: RestartCase = {
      ...failed,
      strategy: 'rest_for_one',
      maxRestarts: 10,
      children: ['registry', 'evaluator', 'scheduler', 'pipeline', 'supervisor'].map((id) => child(id)),
    }
    const afterPipeline = decideRestart({ ...application, ended: 'pipeline' })
    expect(afterPipeline).toMatchObject({ stop: ['supervisor'], start: ['pipeline', 'supervisor'] })
    const afterRegistry = decideRestart({ ...application, ended: 'registry' })
    expect(afterRegistry).toMatchObject({
      stop: ['supervisor', 'pipeline', 'scheduler', 'evaluator'],
      start: ['registry', 'evaluator', 'scheduler', 'pipeline', 'supervisor'],
    })
    const often = { ...application, ended: 'registry', now: 60_000 }
    expect(decideRestart({ ...often, times: Array.from({ length: 9 }, () => 0) }).as).toBe('restart')
    expect(decideRestart({ ...often, times: Array.from({ length: 10 }, () => 0) }).as).toBe('escalate')

    const pool = { ...failed, children: ['agent-1', 'agent-2', 'agent-3'].map((id) => child(id)) }
    expect(decideRestart({ ...pool, ended: 'agent-2' })).toMatchObject({ stop: [], start: ['agent-2'] })
  })

  test('a child that it does not have changes nothing', () => {
    expect(decideRestart({ ...failed, ended: 'nobody' })).toEqual({ as: 'leave' })
  })
})

describe('terms and children in keys', () => {
  test('come back as they were', () => {
    for (const strategy of supervisionStrategies)
      for (const endsWith of supervisorEnds) {
        const terms = { strategy, maxRestarts: 3, periodMs: 1e12, endsWith }
        expect(supervisorTerms(supervisorKey(terms))).toEqual(terms)
      }
    for (const restart of childRestarts)
      expect(supervisedIn(supervisedKey({ id: 'a b', restart }))).toEqual({ id: 'a b', restart })
  })

  test.each(['nap', '$ku0/child/a', '$ku0/supervisor/unknown/1/1/children', '$ku0/supervised/often/a'])(
    'other keys are neither: %s',
    (key) => expect([supervisorTerms(key), supervisedIn(key)]).toEqual([undefined, undefined]),
  )
})

describe('supervision: the time that a child has to stop', () => {
  test('14.2 stands in the key of the supervisor, which older keys lack', () => {
    const terms = { strategy: 'one_for_one', maxRestarts: 5, periodMs: 1_000, endsWith: 'cancel' } as const
    for (const it of [terms, { ...terms, shutdownMs: 250 }])
      expect(supervisorTerms(supervisorKey(it))).toEqual(it)
  })

  test('14.2 goes with the child, whose own comes first; other labels stay', () => {
    expect(labelsWithShutdown(undefined, {})).toEqual({})
    const own = labelsWithShutdown({ a: 'b' }, { own: 5, supervisor: 6 })
    expect(own).toEqual({ labels: { a: 'b', [SHUTDOWN_LABEL]: '5' } })
    const { labels } = labelsWithShutdown(own.labels, { supervisor: 7 })
    expect(shutdownIn({ parentId: 'p', labels })).toBe(5)
    expect(labelsWithShutdown(labels, { own: 8 })).toEqual({ labels: { a: 'b', [SHUTDOWN_LABEL]: '8' } })
    expect(labelsWithShutdown({}, { supervisor: 7 })).toEqual({ labels: { [SHUTDOWN_LABEL]: '7' } })
    expect(shutdownIn({ labels })).toBeUndefined()
    expect(shutdownIn({ parentId: 'p', labels: { [SHUTDOWN_LABEL]: '86400000' } })).toBe(MAX_SHUTDOWN_MS)
    for (const odd of ['', '0', '-1', '1.5', '1e3', 'soon', '86400001', '9'.repeat(11)])
      expect(shutdownIn({ parentId: 'p', labels: { [SHUTDOWN_LABEL]: odd } })).toBeUndefined()
  })
})
