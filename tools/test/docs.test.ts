import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ConfigError, errorCodes } from '../../packages/agent-runtime-core/src/index.ts'
import { ExecutionConfig, parseExecutionConfig } from '../../packages/agent-runtime-core/src/schemas.ts'
import { cliExitCodes } from '../../packages/agent-runtime-cli/src/index.ts'
import { untold } from '../../packages/agent-runtime-persistence/test/helpers/untold.ts'
import { exitCodes } from '../../packages/agent-runtime/src/index.ts'
import { tellers } from '../../packages/agent-runtime/test/replay/tellers.ts'
import { conditionOf } from '../conditional-tests.ts'
import { pagesToWrite, statement } from '../evidence.ts'
import { provenPages, references, ruledPages } from '../references.ts'

const root = resolve(import.meta.dirname, '../..')
const everyPage = ['*.md', 'docs/**/*.md', 'examples/*/README.md', 'packages/*/README.md']
const pages = globSync(everyPage, { cwd: root }).toSorted()
const sources = globSync('packages/*/src/**/*.ts', { cwd: root }).toSorted()

/**
 * Tests that need what a machine may lack, and what leaves them out there: strace, a user without rights, the right to mount a file system. The run in which one of
 * them is skipped is refused by `.ci/run`.
 */
const conditional = new Map([
  ['between two acknowledgements there is', 'skipIf'],
  ['of the log) stops the store for good; what was acknowledged is there', 'skipIf'],
  ['a read-only file is store_read_only, with its path', 'skipIf'],
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
])

describe('every rule, trap and fault', () => {
  test('is followed by the test that holds it', () => {
    const without = ruledPages.flatMap(rules).filter(({ text }) => !text.includes('→'))
    expect(without.map(({ name }) => name)).toEqual([])
  })

  test('stands once', () => {
    for (const page of ruledPages) {
      const names = rules(page).map(({ name }) => name)
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    }
  })

  test('every promise of the guarantees does so', () => {
    const promises = table('guarantees', 'docs/guarantees.md')
    expect(promises.filter(([, , proof = '']) => !/\["[^"]+"\]\(/.test(proof))).toEqual([])
  })

  test.each(provenPages.flatMap(references))(
    '$page:$line names a test that is there: $path "$title"',
    ({ path, title }) => {
      expect(existsSync(join(root, path)), `${path} exists`).toBe(true)
      const lines = read(path)
        .split('\n')
        .filter((line) => line.includes(title) && !/^\s*(\/\/|\*|\/\*)/.test(line))
      expect(lines, `${path} has a test called "${title}"`).not.toEqual([])
      const condition = path.endsWith('.ts') ? conditionOf(read(path), title) : undefined
      expect(condition, 'what may leave the test out').toBe(conditional.get(title))
    },
  )
})

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
    ...'X07 X08 X09 X10 X11 X12 X13 X15 X16'.split(' '),
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
    const { text = '' } = rules(page).find((rule) => rule.name === name) ?? {}
    const files = [...text.matchAll(/→ `([^`]+)`/g)].map(([, file = '']) => file)
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

describe('links', () => {
  test.each(pages.flatMap(links))('$page:$line $target', ({ page, target }) => {
    const [path = '', anchor] = target.split('#')
    const file = path === '' ? page : relative(root, resolve(root, dirname(page), decodeURI(path)))
    expect(existsSync(join(root, file)), `${file} exists`).toBe(true)
    expect(anchor === undefined || anchors(file).includes(anchor), `#${anchor} is a heading`).toBe(true)
  })
})

describe('docs/operating.md', () => {
  const { config } = parseExecutionConfig({})

  test('lists every setting with its unit and default', () => {
    const expected = Object.keys(ExecutionConfig.unwrap().shape).map((name) => [
      code(name),
      unitOf(name),
      defaultOf(config[name as keyof typeof config]),
    ])
    expect(table('config').map(([name, unit, byDefault]) => [name, unit, byDefault])).toEqual(expected)
  })

  test('lists every code with its meaning and what to do', () => {
    const listed = [...table('errors'), ...table('reserved errors')]
    const expected = Object.entries(errorCodes).map(([name, { meaning, remedy }]) => [
      code(name),
      meaning,
      remedy,
    ])
    expect(new Set(listed.map(String))).toEqual(new Set(expected.map(String)))
    expect(listed).toHaveLength(expected.length)
  })

  test('reserves only codes that nothing raises', () => {
    const raising = sources.filter((source) => !source.endsWith('/error-codes.ts')).map(read)
    const raised = table('reserved errors').filter(([name = '']) =>
      raising.some((text) => text.includes(`'${name.replaceAll('`', '')}'`)),
    )
    expect(raised).toEqual([])
  })

  test('lists the exit codes', () => {
    const { drained, abandoned, storeFailed, signalBase } = exitCodes
    const expected = [drained, abandoned, storeFailed, signalBase + 2, signalBase + 15].map(String)
    expect(table('exit codes').map(([number]) => number)).toEqual(expected)
  })

  test('lists the exit codes of the command agent-runtime', () => {
    expect(table('exit codes of commands').map(([number]) => number)).toEqual(
      Object.values(cliExitCodes).map(String),
    )
  })

  test('lists the columns that verify cannot tell', () => {
    const listed = table('untold columns').map(([what, names = '']) => [what, names.split(', ')])
    expect(listed).toEqual(Object.entries(untold).map(([what, names]) => [what, names.map(code)]))
  })

  test('lists who tells of a changed event', () => {
    expect(table('changed events')).toEqual(Object.entries(tellers).map(([who, told]) => [who, ...told]))
  })

  test('names the versions of Node that the packages ask for', () => {
    const { engines } = JSON.parse(read('packages/agent-runtime/package.json')) as {
      engines: { node: string }
    }
    expect(read('docs/operating.md')).toContain(code(engines.node))
  })
})

describe('figures that stand in other pages, too, are those of the evidence', () => {
  const kills = evidence('kills')
  const races = evidence('races')
  const simulation = evidence('simulation')
  const soak = evidence('soak')
  const [, noticed = ''] = /^\| noticed +\| \d+: ([\d.]+ %)/m.exec(read('docs/evidence/stryker.md')) ?? []

  test.each([
    [
      'README.md',
      `0 of ${kills('submissions acknowledged')} submissions over ${kills('kills (SIGKILL)')} kills`,
    ],
    [
      'docs/guarantees.md',
      `0 lost of ${kills('submissions acknowledged')} over ${kills('kills (SIGKILL)')} SIGKILLs`,
    ],
    ['docs/guarantees.md', `0 of the steps of ${kills('tasks, with their children')} tasks`],
    ['docs/guarantees.md', `${races('stopped in a step, woken when another had taken over')} SIGSTOPs`],
    ['docs/guarantees.md', `${simulation('seeds')} simulated lives`],
    ['docs/guarantees.md', `${races('races')} with the end`],
    [
      'docs/guarantees.md',
      `heap: ${soak('heap after a collection', 2)} MB more for 10 000 tasks, over ${soak('tasks')}`,
    ],
    ['docs/reliability.md', `[The last ones](evidence/stryker.md): ${noticed}`],
  ])('%s: %s', (page, figure) => {
    expect(read(page).includes(figure), `${page} says: ${figure}`).toBe(true)
  })

  test('each page says which long runs are of the present sources', () => {
    for (const { page, now, right } of pagesToWrite())
      expect(now === right, `${page} is as 'pnpm evidence' writes it`).toBe(true)
  })

  test('a long run is of the present sources as long as their digest is the same', () => {
    const lives = [
      { first: 1, last: 1_000, commit: 'a, sources 12' },
      { first: 1_001, last: 1_500, commit: 'b, sources 34' },
    ]
    const evidencePages = new Map([
      ['kills', '| commit | c, sources 34 |'],
      ['soak', '| commit | d |'],
    ])
    expect(statement('34', lives, evidencePages, 'evidence')).toBe(
      [
        '- [simulation](evidence/simulation.md): 1 500 lives, 500 of them on the present sources',
        '- on the present sources: [kills](evidence/kills.md)',
        '- on earlier sources: [soak](evidence/soak.md)',
      ].join('\n'),
    )
  })

  test('and nothing was lost, repeated or broken', () => {
    const lines = [
      'acknowledged and lost',
      'recorded steps that ran again',
      'submissions that became two tasks',
    ]
    expect(lines.map((what) => kills(what))).toEqual(['0', '0', '0'])
    const faults = read('docs/evidence/races.md').match(/^\| faults\b.*$/gm) ?? []
    expect(faults).toHaveLength(3)
    expect(faults.filter((line) => !/\| 0 +\|$/.test(line))).toEqual([])
    expect(read('docs/evidence/simulation.md')).toMatch(/^\| broken +\| none +\|$/m)
  })
})

/** The number that a page of evidence has in a row, as pages show it. */
function evidence(page: string) {
  const rows = read(`docs/evidence/${page}.md`).matchAll(/^\| ([^|]+?) +\| (-?[\d ]*\d(?:\.\d+)?)/gm)
  const numbers = new Map(
    [...rows].map(([, what = '', number = '']) => [what, Number(number.replaceAll(' ', ''))]),
  )
  return (what: string, digits = 0) => {
    const number = numbers.get(what)
    if (number === undefined) throw new Error(`docs/evidence/${page}.md has no row '${what}'`)
    return number.toFixed(digits).replaceAll(/\B(?=(?:\d{3})+$)/g, digits === 0 ? ' ' : '')
  }
}

interface Section {
  readonly name: string
  readonly text: string
}

/** The `###` sections of a page, by the first word of their heading: `4.10`, `C7`, `T5`. */
function rules(page: string): Section[] {
  const [, ...sections] = read(page).split(/^###? (?=\S)/m)
  return sections
    .filter((text) => /^([A-Z]\d+|\d+\.\d+) /.test(text))
    .map((text) => ({ name: firstWord(text), text }))
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

/** Relative links of a page, without those in code. */
function links(page: string) {
  let fenced = false
  return linesOf(page).flatMap(({ line, text }) => {
    if (/^\s*```/.test(text)) fenced = !fenced
    if (fenced) return []
    const targets = [...text.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(
      ([, target = '']) => target,
    )
    return targets.filter((target) => !/^[a-z]+:/.test(target)).map((target) => ({ page, line, target }))
  })
}

function anchors(page: string): string[] {
  return [...read(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-'),
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

/** The cells of the table behind `<!-- table: NAME -->` in a page, without its head. */
function table(name: string, page = 'docs/operating.md'): string[][] {
  const [, after = ''] = read(page).split(`<!-- table: ${name} -->\n`)
  const rows = after.trimStart().split('\n\n')[0]?.split('\n').slice(2) ?? []
  expect(rows, `${page} has a table ${name}`).not.toEqual([])
  return rows.map((row) =>
    row
      .replaceAll(/^\|\s*|\s*\|$/g, '')
      .split(/\s*\|\s*/)
      .map((cell) => cell.trim()),
  )
}

/** The unit of a setting, as its own complaint names it. */
function unitOf(name: string): string {
  try {
    parseExecutionConfig({ [name]: 'wrong' })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return /^a whole number of (\w+)/.exec(error.problems[0]?.allowed ?? '')?.[1] ?? '-'
  }
  throw new Error(`${name} takes anything`)
}

/** 30 000, `false`, unset. */
function defaultOf(value: number | boolean | object | undefined): string {
  if (typeof value === 'number') return String(value).replaceAll(/\B(?=(\d{3})+$)/g, ' ')
  return value === undefined ? 'unset' : code(JSON.stringify(value))
}

function code(text: string): string {
  return `\`${text}\``
}

function firstWord(text: string): string {
  return /^\S+/.exec(text)?.[0] ?? ''
}

function linesOf(page: string) {
  return read(page)
    .split('\n')
    .map((text, index) => ({ line: index + 1, text }))
}

const texts = new Map<string, string>()

function read(file: string): string {
  const known = texts.get(file)
  if (known !== undefined) return known
  const text = readFileSync(join(root, file), 'utf8')
  texts.set(file, text)
  return text
}
