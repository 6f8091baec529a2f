import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { references } from '../proof.ts'
import { rulesOf } from '../rules.ts'
import { anchor, read, root } from './pages.ts'

const page = 'docs/paper.md'
const rows = rulesOf(page, read(page)).map(({ name, heading, text }) => {
  const [, , says = '', here = '', tests = ''] = text.split(/(?<!\\)\|/).map((cell) => cell.trim())
  return { name, heading, says, here, tests }
})
const held = new Set(references(page).map(({ rule }) => rule))

test('each numbered item of the paper has one row', () => {
  const names = rows.map(({ name }) => name)
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  // They share one count; algorithms have their own.
  const kinds = { Definition: [1, 2, 3, 6, 8, 9, 10, 13, 14, 15], Proposition: [4, 5], Example: [7] }
  const others = { Theorem: [11, 16], Corollary: [12], Algorithm: [1, 2] }
  const expected = Object.entries({ ...kinds, ...others }).flatMap(([kind, numbers]) =>
    numbers.map((number) => `${kind} ${number}`),
  )
  const numbered = names.filter((name) => new RegExp(`^(${expected.join('|')})$`).test(name))
  expect(numbered.toSorted()).toEqual(expected.toSorted())
})

test.each(rows)(
  '$heading links its tests, or says why it has none',
  ({ name, heading, says, here, tests }) => {
    expect(says).toMatch(/\.$/)
    expect(here).not.toBe('')
    // A row without tests gives its reason as a sentence.
    const expected = held.has(name) ? `[tests](proof.md#${anchor(heading)})` : 'none'
    expect([tests, held.has(name) || here.endsWith('.')]).toEqual([expected, true])
  },
)

test('each name in code is exported, or an option', () => {
  const api = globSync('api/*.txt', { cwd: root }).map(read).join('\n')
  const names = rows.flatMap(({ here }) => [...here.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
  expect(names.length).toBeGreaterThan(30)
  const words = new Set(api.match(/\w+/g))
  expect(names.filter((name) => !words.has(name))).toEqual([])
})
