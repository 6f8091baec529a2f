import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mutants } from '../mutants/list.ts'
import { edited } from '../mutants/plugin.ts'

const root = resolve(import.meta.dirname, '../..')

describe('planted faults (docs/reliability.md 3.4)', () => {
  test.each(mutants)(
    'each can be planted: its text stands in the source once',
    ({ name, file, edits, killedBy }) => {
      const text = readFileSync(resolve(root, file), 'utf8')
      expect(edits.reduce((left, [find, replace]) => edited(left, find, replace, name), text)).not.toBe(text)
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
