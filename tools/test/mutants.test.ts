import { existsSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { edited } from '../mutants/edited.ts'
import { mutants } from '../mutants/list.ts'
import { isByTimeAlone, type RunFile, verdictOf } from '../mutants/verdict.ts'

const root = resolve(import.meta.dirname, '../..')

describe('planted faults (docs/reliability.md 3.4)', () => {
  test.each(mutants)(
    'each can be planted: its text stands in the source once, and what comes of it parses',
    ({ name, file, edits, killedBy }) => {
      const text = readFileSync(resolve(root, file), 'utf8')
      const planted = edits.reduce((left, [find, replace]) => edited(left, find, replace, name), text)
      expect(planted).not.toBe(text)
      if (file.endsWith('.ts')) stripTypeScriptTypes(planted)
      const [testFile, rule] = killedBy
      expect(existsSync(resolve(root, testFile))).toBe(true)
      // Tests of anything else may fail of it too: those of its rule have to.
      expect(rule).not.toBe('')
    },
  )

  test('there are as many as the invariants and rules deserve, each with a name of its own', () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
    expect(mutants.length).toBeGreaterThanOrEqual(25)
  })

  test('a text that is missing, or there twice, is refused by the name of the fault', () => {
    expect(() => edited('a b', 'c', 'd', 'a fault')).toThrow("mutant 'a fault': 0 places")
    expect(() => edited('a a', 'a', 'd', 'a fault')).toThrow('2 places')
  })
})

describe('a planted fault counts as noticed', () => {
  const rule = /5\.1 hooks/
  const failed = (fullName: string, ...errors: RunFile['tests'][number]['errors']) => ({
    fullName,
    state: 'failed',
    errors,
  })
  const wrong = { name: 'AssertionError', message: 'expected 1 to be 2' }
  const ran = (...tests: RunFile['tests']) => verdictOf([{ errors: [], tests }], rule)

  test('by a failed test whose name has its rule, also beside one that says nothing', () => {
    const unread = failed('5.1 hooks run', { name: 'ReferenceError', message: 'ends is not defined' })
    expect(ran(failed('exec > 5.1 hooks run', wrong))).toBe('noticed')
    expect(ran(unread, failed('5.1 hooks end', wrong))).toBe('noticed')
    expect(ran(failed('5.1 > hooks > run', wrong))).toBe('noticed')
    const spoiled = { name: 'SyntaxError', message: 'Unexpected end of JSON input' }
    expect(ran(failed('5.1 hooks run', spoiled))).toBe('noticed')
  })

  test('by no test that passed or did not run', () => {
    const tests = ['passed', 'skipped'].map((state) => ({ fullName: '5.1 hooks run', state, errors: [] }))
    expect(ran(...tests)).toBe('unnoticed')
    expect(ran()).toBe('unnoticed')
  })

  test('by no test of another rule', () => {
    expect(ran(failed('5.2 a wait ends', wrong))).toBe('unnoticed')
  })

  test.each([
    [{ name: 'ReferenceError', message: 'ends is not defined' }],
    [{ name: 'Error', message: "Cannot find module './no.ts'" }],
    [{ name: 'StoreError', message: 'it failed', cause: { name: 'ReferenceError', message: 'no' } }],
    [{ name: 'TaskFailed', message: 'the handler threw ReferenceError: ends is not defined' }],
  ])('by no program that cannot run: %j', (error) => {
    expect(ran(failed('5.1 hooks run', error))).toBe('broken')
  })

  test('by a test whose time was over, which is named as such', () => {
    const late = [
      { name: 'Error', message: 'Test timed out in 30000ms.\nIf this is a long-running test' },
      { name: 'Error', message: 'Hook timed out in 30000ms.\nIf this is a long-running hook' },
      { ...wrong, cause: { name: 'Error', message: 'Matcher did not succeed in time.' } },
    ]
    const isLate = (...tests: RunFile['tests']) => isByTimeAlone([{ errors: [], tests }], rule)
    for (const error of late) {
      expect(ran(failed('5.1 hooks run', error))).toBe('noticed')
      expect(isLate(failed('5.1 hooks run', error))).toBe(true)
      expect(isLate(failed('5.1 hooks run', error, wrong))).toBe(false)
    }
    expect(isLate(...late.map((error) => failed('5.1 hooks run', error)))).toBe(true)
    expect(isLate(failed('5.1 hooks run', wrong))).toBe(false)
    expect(isLate()).toBe(false)
  })

  test('by no file that cannot be loaded', () => {
    expect(verdictOf([{ errors: [{ message: 'Transform failed' }], tests: [] }], rule)).toBe('broken')
  })
})
