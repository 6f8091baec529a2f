import { type Draw, type DrawLine, drawnOf, placeOf, type Tried } from './draw.ts'
import { changeAt, isNoticed, isUnnoticed, least } from './scores.ts'

/** The changes that were drawn in one run, and how they fared. */
export interface Sample {
  /** The seed and the part of the changes that were drawn with it. */
  readonly draw: string
  readonly commit: string
  readonly date: string
  readonly machine: string
  /** The core's own tests alone had to notice. */
  readonly direct?: boolean
  /** So many changes could have been drawn. */
  readonly among: number
  readonly noticed: number
  /** The noticed ones whose tests did not end in time. */
  readonly timedOut: readonly string[]
  readonly unnoticed: readonly Unnoticed[]
}

interface Unnoticed {
  readonly change: string
  /** A person found by reading why nothing can tell it, or that a test that came after the draw does. Nothing checks it. */
  readonly judged?: string
  readonly noticedSince?: true
}

/**
 * Reads the lines of a run. A run that was ended early has drawn the changes before the first one that it did not try. `folder`: the sources,
 * from the workspace.
 */
export function sampleOf(draw: Draw, lines: readonly DrawLine[], folder: string): Drawn {
  const ids = lines.flatMap((it) => ('ids' in it ? it.ids : []))
  const tried = new Map(lines.flatMap((it) => ('tried' in it ? [[it.tried.id, it.tried] as const] : [])))
  const drawn = drawnOf(draw, ids)
  const missing = drawn.find((id) => !tried.has(id))
  const to = missing === undefined ? draw.to : placeOf(draw.seed, missing)
  const found = drawnOf({ ...draw, to }, ids).flatMap((id) => tried.get(id) ?? [])
  const changeOf = (it: Tried) =>
    `${it.fileName.replaceAll('\\', '/').split(`${folder}/`).at(-1)}:${changeAt(it)}`
  return {
    draw: `${draw.seed}:${draw.from}-${to}`,
    among: ids.length,
    noticed: found.filter(isNoticed).length,
    timedOut: found.filter(({ status }) => status === 'Timeout').map(changeOf),
    unnoticed: found.filter(isUnnoticed).map((it) => ({ change: changeOf(it) })),
  }
}

type Drawn = Pick<Sample, 'draw' | 'among' | 'noticed' | 'timedOut' | 'unnoticed'>

/** Between which rates the rate of all lies in 95 of 100 draws, in percent: Wilson's interval. */
export function intervalOf(noticed: number, drawn: number): readonly [least: number, most: number] {
  const z = 1.96
  const rate = noticed / drawn
  const middle = rate + z ** 2 / (2 * drawn)
  const half = z * Math.sqrt((rate * (1 - rate)) / drawn + z ** 2 / (4 * drawn ** 2))
  const [from, to] = [middle - half, middle + half].map((it) => (100 * it) / (1 + z ** 2 / drawn))
  return [from ?? 0, to ?? 100]
}

/** Runs of one seed on one commit, against the same tests, add up to a draw; the last draw last. */
function drawsOf(samples: readonly Sample[]): readonly (readonly Sample[])[] {
  const draws = Map.groupBy(
    samples,
    ({ commit, draw, direct = false }) => `${commit} ${direct} ${draw.split(':')[0]}`,
  )
  return [...draws.values()].toSorted(
    (a, b) => samples.indexOf(a.at(-1) as Sample) - samples.indexOf(b.at(-1) as Sample),
  )
}

function countsOf(runs: readonly Sample[]): {
  readonly noticed: number
  readonly drawn: number
  readonly since: number
} {
  const noticed = runs.reduce((sum, it) => sum + it.noticed, 0)
  const unnoticed = runs.flatMap((it) => it.unnoticed)
  const since = unnoticed.filter(({ noticedSince }) => noticedSince).length
  return { noticed, drawn: noticed + unnoticed.length, since }
}

/** A draw in one line: its rate, and between which rates that of all lies. */
function lineOf(runs: readonly Sample[]): string {
  const { noticed, drawn, since } = countsOf(runs)
  const later =
    since === 0 ? '' : `, ${((100 * (noticed + since)) / drawn).toFixed(1)} % with the tests that came after`
  const [lowest, highest] = intervalOf(noticed, drawn).map((it) => it.toFixed(1))
  return `${((100 * noticed) / drawn).toFixed(1)} % of ${drawn} at ${runs[0]?.commit.slice(0, 12)} (${lowest} % to ${highest} %)${later}${runs[0]?.direct === true ? ', by the own tests of the core alone' : ''}`
}

/** The results as a page. */
export function samplePageOf(samples: readonly Sample[]): string {
  const draws = drawsOf(samples)
  const runs = draws.at(-1) ?? []
  const [last] = runs
  if (last === undefined) return '# Evidence: changes of the core drawn at random\n'
  const { noticed, drawn, since } = countsOf(runs)
  const unnoticed = runs.flatMap((it) => it.unnoticed)
  const [lowest, most] = intervalOf(noticed, drawn)
  const where = lowest >= least ? 'above' : most < least ? 'below' : 'around'
  return [
    '# Evidence: changes of the core drawn at random',
    '',
    'A whole run over the core takes a night and more. So `pnpm stryker --draw` draws changes by chance, over all of its files, each change with the same chance. The tests that',
    `reach a change judge it. The bar is ${least} %.`,
    '',
    '|          |     |',
    '| -------- | --- |',
    `| changes that could be drawn | ${last.among} |`,
    `| drawn    | ${drawn}, by \`${runs.map(({ draw }) => draw).join('`, `')}\` |`,
    `| tests that had to notice | ${last.direct === true ? "the core's own" : "the core's own, then the rules of the stores"} |`,
    `| noticed  | ${noticed}: ${((100 * noticed) / drawn).toFixed(1)} %, of which ${runs.flatMap((it) => it.timedOut).length} by tests that did not end in time |`,
    `| the rate of all changes lies, in 95 of 100 draws | from ${lowest.toFixed(1)} % to ${most.toFixed(1)} %: ${where} the bar |`,
    ...(since === 0
      ? []
      : [
          `| noticed with the tests that came after the draw | ${noticed + since}: ${((100 * (noticed + since)) / drawn).toFixed(1)} % |`,
        ]),
    ...draws.slice(0, -1).map((earlier) => `| an earlier draw | ${lineOf(earlier)} |`),
    `| commit   | ${last.commit.slice(0, 12)}, ${last.date} |`,
    `| machine  | ${[...new Set(runs.map(({ machine }) => machine))].join('; ')} |`,
    '',
    '## Not noticed',
    '',
    '| change | what came of it |',
    '| ------ | --------------- |',
    ...unnoticed.map(
      ({ change, judged, noticedSince }) =>
        `| ${change} | ${judged ?? (noticedSince ? 'a test that came after notices it' : 'not looked into yet')} |`,
    ),
    '',
  ].join('\n')
}
