import { describe, expect, test } from 'vitest'
import { conditionOf } from '../conditional-tests.ts'
import { unheldRules, untriedRules } from '../skipped-tests.ts'

describe('a rule whose test was skipped', () => {
  const rule = { page: 'docs/semantics.md', rule: 'C7' }
  const skipped = [{ file: 'a.test.ts', name: 'a store > T1 full: an fsync' }]

  test.each([
    ['by its title', 'a.test.ts', 'an fsync', true],
    ['by a title with a value in it', 'a.test.ts', 'T1 ${durability}: an', true],
    ['by a title of a table', 'a.test.ts', 'T1 $durability: an', true],
    ['in a suite that other files run', 'src/suite.ts', 'an fsync', true],
    ['not in another file', 'b.test.ts', 'an fsync', false],
    ['not by another title', 'a.test.ts', 'T1 ${durability}; an', false],
  ])('is found %s', (_, path, title, found) => {
    expect(unheldRules(skipped, [{ ...rule, path, title }])).toEqual(
      found
        ? ['docs/semantics.md C7 rests on a test that was skipped: a.test.ts > a store > T1 full: an fsync']
        : [],
    )
  })
})

describe('a rule of which no test ran', () => {
  const rule = { page: 'docs/semantics.md', rule: 'C7' }
  const ran = { 'a.test.ts': ['a store > an fsync, full'], 'b.test.ts': ['C1 a table > 2'] }
  const complaint = (titles: string) => [`docs/semantics.md C7 has no test that ran: ${titles}`]

  test.each([
    ['its file does not run', 'c.test.ts', 'an fsync'],
    ['its file runs without it', 'a.test.ts', 'an fsync, normal'],
    ['no file runs that part of a suite', 'src/suite.ts', 'a rename'],
  ])('is reported where %s', (_, path, title) => {
    expect(untriedRules(ran, [{ ...rule, path, title }])).toEqual(complaint(`"${title}"`))
  })

  test.each([
    ['by its title', 'a.test.ts', 'an fsync'],
    ['by a title with a value in it', 'a.test.ts', 'an fsync, ${durability}'],
    ['in a suite that another file runs', 'src/suite.ts', 'C1 a table'],
  ])('has one %s', (_, path, title) => {
    expect(untriedRules(ran, [{ ...rule, path, title }])).toEqual([])
  })

  test('has one of several, and a scenario of the gym is none', () => {
    const scenario = { ...rule, path: 'benchmarks/kills.json', title: 'kills' }
    const left = { ...rule, path: 'c.test.ts', title: 'at night' }
    expect(untriedRules(ran, [left, scenario])).toEqual(complaint('"at night"'))
    expect(untriedRules(ran, [left, { ...rule, path: 'a.test.ts', title: 'an fsync' }])).toEqual([])
    expect(untriedRules(ran, [scenario])).toEqual([])
  })
})

describe('a test', () => {
  test.each([
    ["test.skip('it holds', () => {})", 'skip'],
    ['test.skipIf(!canTrace)(\n  `it holds`,\n  () => {})', 'skipIf'],
    ["test.runIf(a).each([1])('it holds %s', () => {})", 'runIf'],
    ["test.concurrent.todo('it holds')", 'todo'],
    ["describe.skipIf(a)('b', () => { test('it holds', () => {}) })", 'skipIf'],
    ["if (canTrace)\n  test('it holds', () => {})", 'if (canTrace)'],
    ["canTrace && test('it holds', () => {})", "canTrace && test('it holds', () => {})"],
    ["test('it holds', ({ skip }) => { if (a) skip() })", 'skip'],
    ["test('it holds', (context) => context.skip(a))", 'skip'],
  ])('may be left out: %s', (source, by) => {
    expect(conditionOf(source, 'it holds')).toBe(by)
  })

  test.each([
    ["test('it holds', () => { if (a) b() })"],
    ['for (const a of [1]) test(`it holds ${a ? 1 : 2}`, () => {})'],
    ["test.skip('another', () => {})\ntest.each([['it holds', 1]])('%s', () => {})"],
    ["// test.skip('it holds')\ntest('it holds', () => rows.skip)"],
  ])('is always there: %s', (source) => {
    expect(conditionOf(source, 'it holds')).toBeUndefined()
  })
})
