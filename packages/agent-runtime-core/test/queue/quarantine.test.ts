import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideExpiry } from '../../src/lease/expiry.ts'
import { isSuspect, suspectFrom } from '../../src/queue/quarantine.ts'

describe('quarantine (docs/semantics.md 3.9)', () => {
  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 2],
    [5, 3],
    [6, 3],
    [9, 5],
    [1_000_000, 500_000],
  ])('%i is suspect after maxCrashes %i: %i', (maxCrashes, from) => {
    expect(suspectFrom(maxCrashes)).toBe(from)
    expect(isSuspect({ crashes: from - 1 }, maxCrashes)).toBe(false)
    expect(isSuspect({ crashes: from }, maxCrashes)).toBe(true)
  })

  test('a task that has lost no lease is not suspect', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), (maxCrashes) => {
        expect(isSuspect({ crashes: 0 }, maxCrashes)).toBe(false)
      }),
    )
  })

  /** Lives of one process: what is queued starts in order as the rule has it, and what ruins a life takes all along. */
  function livesOf(tasks: readonly { ruins: boolean }[], maxCrashes: number) {
    const all = tasks.map((task) => ({ ...task, attempt: 1, crashes: 0, end: '' }))
    for (let life = 0; all.some(({ end }) => end === ''); life++) {
      if (life > tasks.length * (maxCrashes + 1)) throw new Error('it never ends')
      const open = all.filter(({ end }) => end === '')
      const first = open.find((task) => isSuspect(task, maxCrashes))
      const running = open.filter((task) => task === first || !isSuspect(task, maxCrashes))
      const isRuined = running.some(({ ruins }) => ruins)
      for (const task of running) {
        const verdict = isRuined ? decideExpiry(task, maxCrashes) : undefined
        if (verdict === undefined) task.end = 'completed'
        else if (verdict.to === 'failed') task.end = 'poisoned'
        else Object.assign(task, { attempt: verdict.attempt })
        task.crashes = verdict?.crashes ?? task.crashes
      }
    }
    return all
  }

  test('A21 beside one task that ruins every life of its process, none but that one is poisoned', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 12 }), fc.nat(30), fc.nat(30), (maxCrashes, before, behind) => {
        const innocent = { ruins: false }
        const tasks = [
          ...Array.from({ length: before }, () => innocent),
          { ruins: true },
          ...Array.from({ length: behind }, () => innocent),
        ]
        const ends = livesOf(tasks, maxCrashes).map(({ ruins, end }) => [ruins, end])
        expect(ends).toEqual(tasks.map(({ ruins }) => [ruins, ruins ? 'poisoned' : 'completed']))
      }),
    )
  })

  test('where the first crash fails a task, nobody can tell', () => {
    expect(livesOf([{ ruins: true }, { ruins: false }], 1).map(({ end }) => end)).toEqual([
      'poisoned',
      'poisoned',
    ])
  })
})
