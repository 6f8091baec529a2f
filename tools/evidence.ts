// Says in the README and in the guarantees which long runs were made on the present sources, and which on earlier ones. Writes the pages of changed
// sources, too, since they say which files are still as they were: `pnpm format` sets their tables.
//
//   node tools/evidence.ts [--check]
//
// --check: changes nothing, and fails where a page is not as it would be written. Run it without after a long run, and after the first change to
// the sources that follows one.
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { sourcesDigest } from '../packages/agent-gym/src/report/sources.ts'
import { livesOfLanding } from './ci/stages.ts'
import { areas, textsOf } from './stryker/areas.ts'
import { type Sample, samplePageOf } from './stryker/sample.ts'
import { evidenceOf, type KeptScore } from './stryker/scores.ts'

const workspace = resolve(import.meta.dirname, '..')
const marks = /(<!-- evidence -->\n)[^]*?(<!-- \/evidence -->)/
/** Where the statement stands, and the way from there to the pages of evidence. */
const stands = { 'README.md': 'docs/evidence', 'docs/guarantees.md': 'evidence' } as const
/** Pages of one run each. */
const runs = {
  kills: 'kills',
  races: 'races',
  soak: 'soak',
  promises: 'promises with a figure',
  pipelines: 'pipelines',
} as const

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
  const pages = Object.entries(runs).map(([page, name]): LongRun => ({
    name,
    page: `${page}.md`,
    text: read(`docs/evidence/${page}.md`),
  }))
  const scenarios = JSON.parse(read('docs/evidence/scenarios.json')) as Scenario[]
  const all = [
    ...pages,
    ...scenarios.map(({ id, commit }): LongRun => ({ name: id, page: `scenarios.md#${id}`, text: commit })),
  ]
  return [
    ...Object.entries(stands).map(([page, way]) => {
      const now = read(page)
      const text = statement(digest, lives, all, way)
      return { page, now, right: now.replace(marks, (_, start, end) => `${start}\n${text}\n\n${end}`) }
    }),
    ...changedSources(),
  ]
}

/** The pages of `pnpm stryker`. The formatter sets the columns of tables, so that only their words count. */
function changedSources(): readonly { page: string; now: string; right: string }[] {
  const scores = JSON.parse(read('docs/evidence/stryker.json')) as readonly KeptScore[]
  const samples = JSON.parse(read('docs/evidence/stryker-sample.json')) as readonly Sample[]
  const words = (text: string) => text.replaceAll(/-{2,}/g, '-').split(/\s+/).join(' ')
  return Object.entries({
    'docs/evidence/stryker.md': evidenceOf(scores, textsOf(areas.core, workspace)),
    'docs/evidence/stryker-sample.md': samplePageOf(samples),
  }).map(([page, text]) => {
    const now = read(page)
    return { page, now, right: words(now) === words(text) ? now : text }
  })
}

interface Life {
  readonly first: number
  readonly last: number
  readonly commit: string
}

/** A scenario of the gym, as it is kept. */
interface Scenario {
  readonly id: string
  readonly commit: string
}

/** A long run, where it is told, and a text that has the digest of its sources. */
export interface LongRun {
  readonly name: string
  readonly page: string
  readonly text: string
}

/** Which long runs were made on the sources with that digest, in Markdown. */
export function statement(
  digest: string,
  lives: readonly Life[],
  all: readonly LongRun[],
  way: string,
): string {
  const isOn = (text: string) => text.includes(`sources ${digest}`)
  const count = (some: readonly Life[]) => some.reduce((sum, { first, last }) => sum + last - first + 1, 0)
  const shown = (number: number) => String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ' ')
  const links = (some: readonly LongRun[]) =>
    some.map(({ name, page }) => `[${name}](${way}/${page})`).join(', ')
  const present = all.filter(({ text }) => isOn(text))
  const earlier = all.filter(({ text }) => !isOn(text))
  return [
    `- [simulation](${way}/simulation.md): ${simulated(shown, count(lives), count(lives.filter(({ commit }) => isOn(commit))))}`,
    ...(present.length > 0 ? [`- on the present sources: ${links(present)}`] : []),
    ...(earlier.length > 0 ? [`- on earlier sources: ${links(earlier)}`] : []),
  ].join('\n')
}

function simulated(shown: (number: number) => string, all: number, present: number): string {
  const where = present === 0 ? ' on earlier sources' : `, ${shown(present)} of them on the present sources`
  return `${shown(all)} simulated lifetimes of processes${where}; CI runs ${livesOfLanding} more for every change`
}

function read(page: string): string {
  return readFileSync(resolve(workspace, page), 'utf8')
}
