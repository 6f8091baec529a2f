// Says in the README and in the guarantees which long runs were made on the present sources, and which on earlier ones.
//
//   node tools/evidence.ts [--check]
//
// --check: changes nothing, and fails where a page is not as it would be written. Run it without after a long run, and after the first change to
// the sources that follows one.
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { sourcesDigest } from '../packages/agent-gym/src/report/sources.ts'

const workspace = resolve(import.meta.dirname, '..')
const marks = /(<!-- evidence -->\n)[^]*?(<!-- \/evidence -->)/
/** Where the statement stands, and the way from there to the pages of evidence. */
const stands = { 'README.md': 'docs/evidence', 'docs/guarantees.md': 'evidence' } as const
const runs = { kills: 'kills', races: 'races', soak: 'soak', promises: 'promises with a figure' } as const

if (import.meta.main) {
  const isCheck = process.argv.includes('--check')
  const wrong = pagesToWrite().filter(({ now, right }) => now !== right)
  for (const { page, right } of wrong) {
    if (isCheck) console.error(`${page} is not up to date about the long runs: run 'pnpm evidence'`)
    else writeFileSync(resolve(workspace, page), right)
  }
  if (isCheck && wrong.length > 0) process.exitCode = 1
}

/** Each page as it is, and as it is right. */
export function pagesToWrite(): readonly { page: string; now: string; right: string }[] {
  const digest = sourcesDigest()
  const lives = JSON.parse(read('docs/evidence/simulation.json')) as Life[]
  const pages = Object.keys(runs).map((page) => [page, read(`docs/evidence/${page}.md`)] as const)
  return Object.entries(stands).map(([page, way]) => {
    const now = read(page)
    const text = statement(digest, lives, new Map(pages), way)
    return { page, now, right: now.replace(marks, (_, start, end) => `${start}\n${text}\n\n${end}`) }
  })
}

interface Life {
  readonly first: number
  readonly last: number
  readonly commit: string
}

/** Which long runs were made on the sources with that digest, in Markdown. */
export function statement(
  digest: string,
  lives: readonly Life[],
  pages: ReadonlyMap<string, string>,
  way: string,
): string {
  const isOn = (text: string) => text.includes(`sources ${digest}`)
  const count = (some: readonly Life[]) => some.reduce((sum, { first, last }) => sum + last - first + 1, 0)
  const shown = (number: number) => String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ' ')
  const links = (some: readonly string[]) =>
    some.map((page) => `[${runs[page as keyof typeof runs]}](${way}/${page}.md)`).join(', ')
  const present = [...pages.keys()].filter((page) => isOn(pages.get(page) ?? ''))
  const earlier = [...pages.keys()].filter((page) => !present.includes(page))
  return [
    `- [simulation](${way}/simulation.md): ${simulated(shown, count(lives), count(lives.filter(({ commit }) => isOn(commit))))}`,
    ...(present.length > 0 ? [`- on the present sources: ${links(present)}`] : []),
    ...(earlier.length > 0 ? [`- on earlier sources: ${links(earlier)}`] : []),
  ].join('\n')
}

function simulated(shown: (number: number) => string, all: number, present: number): string {
  const where = present === 0 ? ' on earlier sources' : `, ${shown(present)} of them on the present sources`
  return `${shown(all)} simulated lifetimes of processes${where}; CI runs 100 more for every change`
}

function read(page: string): string {
  return readFileSync(resolve(workspace, page), 'utf8')
}
