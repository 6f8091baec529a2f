import { existsSync, globSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ConfigError, errorCodes } from '../../packages/agent-runtime-core/src/index.ts'
import { ExecutionConfig, parseExecutionConfig } from '../../packages/agent-runtime-core/src/schemas.ts'
import { cliExitCodes } from '../../packages/agent-runtime-cli/src/index.ts'
import { untold } from '../../packages/agent-runtime-persistence/test/helpers/untold.ts'
import { exitCodes } from '../../packages/agent-runtime/src/index.ts'
import { tellers } from '../../packages/agent-runtime/test/replay/tellers.ts'
import { pagesToWrite, statement } from '../evidence.ts'
import { anchor, read, root, table } from './pages.ts'

const everyPage = ['*.md', 'docs/**/*.md', 'examples/*/README.md', 'packages/*/README.md']
/** But for the page of tests: that each of them exists is checked by title. */
const pages = globSync(everyPage, { cwd: root, exclude: ['docs/proof.md'] }).toSorted()

describe('links', () => {
  test.each(pages.flatMap(links))('$page:$line $target', ({ page, target }) => {
    const [path = '', heading] = target.split('#')
    const file = path === '' ? page : relative(root, resolve(root, dirname(page), decodeURI(path)))
    expect(existsSync(join(root, file)), `${file} exists`).toBe(true)
    expect(heading === undefined || anchors(file).includes(heading), `#${heading} is a heading`).toBe(true)
  })
})

describe('docs/coming-from', () => {
  test.each(globSync('docs/coming-from/*.md', { cwd: root }))('%s knows what there is by now', (page) => {
    const text = read(page)
    expect(text).toContain('](../console.md)')
    expect(text).toContain("onReject: 'throw'")
    expect(text).not.toMatch(/\btoday\b|\byet\b|no page to look at|stay with|on one machine\. For/i)
  })
})

describe('docs/ARCHITECTURE.md', () => {
  const page = read('docs/ARCHITECTURE.md')

  test.each(['agent-runtime-core', 'agent-runtime', 'agent-runtime-persistence'])(
    'draws each folder of %s',
    (name) => {
      const trees = (page.match(/^```text\n[^]*?^```/gm) ?? []).join('\n')
      const folders = globSync(`packages/${name}/src/*/`, { cwd: root }).map((folder) => basename(folder))
      expect(folders.length).toBeGreaterThan(8)
      const drawn = (folder: string) => new RegExp(`(?:^|\\s)${folder}/\\s`, 'm').test(trees)
      expect(folders.filter((folder) => !drawn(folder))).toEqual([])
    },
  )

  test('names files that are there', () => {
    const files = globSync('packages/*/{src,test}/**/*.ts', { cwd: root })
    const named = [...page.matchAll(/`([\w/.-]+\.ts)`/g)].map(([, file = '']) => file)
    expect(named.length).toBeGreaterThan(30)
    expect(named.filter((file) => !files.some((path) => `/${path}`.endsWith(`/${file}`)))).toEqual([])
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
    const listed = table('errors')
    const expected = Object.entries(errorCodes).map(([name, { meaning, remedy }]) => [
      code(name),
      meaning,
      remedy,
    ])
    expect(new Set(listed.map(String))).toEqual(new Set(expected.map(String)))
    expect(listed).toHaveLength(expected.length)
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

  test('the list says which tests saw a changed event', () => {
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
  const sample = read('docs/evidence/stryker-sample.md')
  const [, drawn = ''] = /^\| drawn +\| (\d+), by/m.exec(sample) ?? []
  const [, drawnRate = ''] = /^\| noticed +\| \d+: ([\d.]+ %)/m.exec(sample) ?? []
  const [, between = ''] = /(from [\d.]+ % to [\d.]+ %: \w+ the bar)/.exec(sample) ?? []

  test.each([
    [
      'README.md',
      `of ${kills('submissions acknowledged')} submissions, none was lost in ${kills('kills (SIGKILL)')} kills`,
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
    ['docs/reliability.md', `${drawnRate} of ${drawn} changes, so the rate of all lies ${between}`],
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
    const runs = [
      { name: 'kills', page: 'kills.md', text: '| commit | c, sources 34 |' },
      { name: 'soak', page: 'soak.md', text: '| commit | d |' },
      { name: 'chaos', page: 'scenarios.md#chaos', text: 'e, sources 34' },
    ]
    expect(statement('34', lives, runs, 'evidence')).toBe(
      [
        '- [simulation](evidence/simulation.md): 1 500 simulated lifetimes of processes, 500 of them on the present sources; CI runs 50 more for every change',
        '- on the present sources: [kills](evidence/kills.md), [chaos](evidence/scenarios.md#chaos)',
        '- on earlier sources: [soak](evidence/soak.md)',
      ].join('\n'),
    )
  })

  test('nothing was lost, repeated or broken', () => {
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
    const verdicts = read('docs/evidence/scenarios.md').match(/^\| verdict +\| .*$/gm) ?? []
    expect(verdicts.length).toBeGreaterThan(0)
    expect(verdicts.filter((line) => !/\| passed +\|$/.test(line))).toEqual([])
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
  return [...read(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => anchor(heading))
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

function linesOf(page: string) {
  return read(page)
    .split('\n')
    .map((text, index) => ({ line: index + 1, text }))
}
