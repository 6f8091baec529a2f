import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { conditionOf } from '../conditional-tests.ts'
import { proofPage, provenPages, references } from '../proof.ts'
import { numberedRules, ruledPages, rulesOf } from '../rules.ts'
import { anchor, read, root, sources, table } from './pages.ts'

/**
 * Tests that need what a machine may lack, and what leaves them out there: strace, a user without rights, the right to mount a file system. The run in which one of
 * them is skipped is refused by `.ci/run`.
 */
const conditional = new Map([
  ['between two acknowledgements there is', 'skipIf'],
  ['of the log) stops the store; every acknowledged commit is there', 'skipIf'],
  [
    'D06 a store that may not be written is store_read_only, with its path; one that may be written opens for anybody',
    'skipIf',
  ],
  ['is never acknowledged; what was acknowledged is there', 'skipIf'],
  ['A24 ${durability}: without what was not synced by then', 'skipIf'],
  ['D09 one without shared memory is refused, with what to do', 'skipIf'],
  ['D03 no room for the file beside the database is store_full, with what to do', 'skipIf'],
  [
    'D03 stops no store, however long it lasts: the log stays where it is, and all goes on when there is room',
    'skipIf',
  ],
  ['D03 a store that has no room to open is store_full, and nothing is left of the attempt', 'skipIf'],
  ['D03 costs nothing where there is room again before the next commit (%s)', 'skipIf'],
  ['D03 refuses what comes after one commit, and the store goes on', 'skipIf'],
  [
    'D03 a PostgreSQL server whose disk is full refuses what there is no room for, and all goes on when there is room',
    'skipIf',
  ],
  [
    'D03 a PostgreSQL server that ends since its log finds no room is gone on with once it has room and is started again',
    'skipIf',
  ],
])

describe('every rule, trap and fault', () => {
  test.each(ruledPages)('%s has tests that hold it', (page) => {
    const proven = new Set(references(page).map(({ rule }) => rule))
    const without = rules(page).filter(({ name }) => !proven.has(name))
    expect(without.map(({ name }) => name)).toEqual([])
  })

  test.each(provenPages)('with tests is a rule of %s', (page) => {
    const known = new Set(rulesOf(page, read(page)).map(({ name }) => name))
    const unknown = references(page).filter(({ rule }) => !known.has(rule))
    expect(unknown.map(({ rule }) => rule)).toEqual([])
  })

  test('is in docs/proof.md with its tests', () => {
    expect(read('docs/proof.md') === proofPage(), "docs/proof.md is as 'pnpm proof' writes it").toBe(true)
  })

  test('stands once', () => {
    for (const page of ruledPages) {
      const names = rules(page).map(({ name }) => name)
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    }
  })

  test('every promise of the guarantees has tests that hold it', () => {
    const page = 'docs/guarantees.md'
    const proven = new Set(references(page).map(({ rule }) => rule))
    const [, list = ''] = read(page).split(/^## What is guaranteed$/m)
    const items = list.split(/^## /m)[0]?.match(/^- .*$/gm) ?? []
    expect(items.length).toBeGreaterThan(0)
    const names = items.map((item) => /^- \*\*(.+?)\.\*\* /.exec(item)?.[1] ?? item)
    expect(names.filter((name) => !proven.has(name))).toEqual([])
    const anchors = new Set([...proven].map((name) => `[tests](proof.md#${anchor(name)})`))
    expect(table('guarantees', page).filter(([, , proof = '']) => !anchors.has(proof))).toEqual([])
  })

  test.each(provenPages)('each one of %s is held by tests that are there', (page) => {
    const wrong = references(page).flatMap(({ rule, path, title }) => {
      if (!existsSync(join(root, path))) return [`${rule}: ${path} does not exist`]
      if (!linesOf(path).some((line) => line.includes(title)))
        return [`${rule}: ${path} has no test called "${title}"`]
      const condition = path.endsWith('.ts') ? conditionOf(read(path), title) : undefined
      if (condition === conditional.get(title)) return []
      return [`${rule}: ${path} leaves out "${title}": ${condition ?? 'never'}`]
    })
    expect(wrong).toEqual([])
  })
})

/** Those of a file that are no comments. */
function linesOf(path: string): readonly string[] {
  const known = lines.get(path)
  if (known !== undefined) return known
  const found = read(path)
    .split('\n')
    .filter((line) => !/^\s*(\/\/|\*|\/\*)/.test(line))
  lines.set(path, found)
  return found
}

const lines = new Map<string, readonly string[]>()

describe('the catalogue of faults', () => {
  /** Its cases, by letter and number. */
  const catalogue = [
    ...cases('A', 24),
    ...cases('B', 18),
    ...cases('C', 9),
    ...cases('D', 25),
    ...cases('E', 12),
    ...cases('F', 13),
    ...cases('G', 13),
    ...cases('H', 14),
    ...cases('J', 8),
    ...cases('X', 18),
  ]
  const page = 'docs/reliability.md'
  const held = new Set(rules(page).map(({ name }) => name))
  const excluded = new Set(
    table('faults that do not apply', page).flatMap(([range = '']) => namedCases(range)),
  )

  test.each(catalogue)('%s is held by tests, or does not apply', (name) => {
    const places = [held.has(name), excluded.has(name)]
    expect(places.filter(Boolean), 'in the page, or in the table').toHaveLength(1)
  })

  test.each([...held].filter((name) => catalogue.includes(name)))('%s has a test named after it', (name) => {
    const files = references(page)
      .filter(({ rule }) => rule === name)
      .map(({ path }) => path)
    // A title of its own, or that of the group around it; not a comment.
    const title = new RegExp(String.raw`(?:'|"|\x60)[^\n]*\b${name}\b`)
    expect(files.filter((file) => title.test(read(file)))).not.toEqual([])
  })

  test('every case that does not apply has its reason, and is one', () => {
    const rows = table('faults that do not apply', page)
    expect(rows.filter(([, why = '']) => why === '')).toEqual([])
    expect([...excluded].filter((name) => !/^[A-Z]\d\d$/.test(name))).toEqual([])
  })
})

test('every rule and case that a docstring names is in its page', () => {
  const known = new Set(ruledPages.flatMap((page) => named(page).map((name) => `${page} ${name}`)))
  const missing = sources.flatMap((source) =>
    mentions(source)
      .filter((mention) => !known.has(mention))
      .map((mention) => `${source}: ${mention}`),
  )
  expect(missing).toEqual([])
})

function rules(page: string) {
  return numberedRules(page, read(page))
}

/** All that a docstring may point at: rules, whole chapters, invariants (the bold beginnings of list items). */
function named(page: string): string[] {
  const others = [...read(page).matchAll(/^(?:## (\d+)\. |- \*\*([A-Z]\d+)\*\* )/gm)]
  return [...others.map(([, chapter, item]) => chapter ?? item ?? ''), ...rules(page).map(({ name }) => name)]
}

/** `docs/semantics.md 4.2, 4.4` and `docs/semantics.md` C3 give `docs/semantics.md 4.2` and so on; a range gives both ends. */
function mentions(source: string): string[] {
  const text = read(source).replaceAll(/\n\s*(\*|\/\/) ?/g, ' ')
  const name = String.raw`(?:[A-Z]\d+|\d+(?:\.\d+)?)`
  const list = new RegExp(
    String.raw`(docs/(?:semantics|reliability)\.md)\x60? (${name}(?:(?:, |\x60? and |-)${name})*)`,
    'g',
  )
  return [...text.matchAll(list)].flatMap(([, page = '', names = '']) =>
    [...names.matchAll(new RegExp(name, 'g'))].map(([found]) => `${page} ${found}`),
  )
}

/** The first cases of a letter: A01, A02, … */
function cases(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => caseName(letter, index + 1))
}

function caseName(letter: string, number: number): string {
  return `${letter}${String(number).padStart(2, '0')}`
}

/** `A12` is that case, `D13-D23` those from the first to the last. */
function namedCases(range: string): string[] {
  const [, letter = '', first, last] = /^([A-Z])(\d\d)-\1(\d\d)$/.exec(range) ?? []
  if (letter === '') return [range]
  const from = Number(first)
  return Array.from({ length: Number(last) - from + 1 }, (_, index) => caseName(letter, from + index))
}
