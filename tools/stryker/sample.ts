import { type Draw, type DrawLine, drawnOf, drawOf, placeOf, type Tried } from './draw.ts'
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
  /** So many of the drawn ones could not be judged, and count neither way. */
  readonly undecided?: number
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
    undecided: found.filter((it) => !isNoticed(it) && !isUnnoticed(it)).length,
  }
}

type Drawn = Pick<Sample, 'draw' | 'among' | 'noticed' | 'timedOut' | 'unnoticed' | 'undecided'>

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

function countsOf(runs: readonly Sample[]): { readonly noticed: number; readonly drawn: number } {
  const noticed = runs.reduce((sum, it) => sum + it.noticed, 0)
  return { noticed, drawn: noticed + runs.reduce((sum, it) => sum + it.unnoticed.length, 0) }
}

/** A draw in one line: its rate, and between which rates that of all lies. */
function lineOf(runs: readonly Sample[]): string {
  const { noticed, drawn } = countsOf(runs)
  const [lowest, highest] = intervalOf(noticed, drawn).map((it) => it.toFixed(1))
  return `${((100 * noticed) / drawn).toFixed(1)} % of ${drawn} at ${runs[0]?.commit.slice(0, 12)} (${lowest} % to ${highest} %)${runs[0]?.direct === true ? ', by the own tests of the core alone' : ''}`
}

/** Why the last draw falls short: chance alone would seldom draw so few from changes of which enough are noticed. */
export function shortfallOf(samples: readonly Sample[]): string | undefined {
  const { noticed, drawn } = countsOf(drawsOf(samples).at(-1) ?? [])
  const [, most] = intervalOf(noticed, drawn)
  return most < least
    ? `at most ${most.toFixed(1)} % of all changes are noticed, by 95 of 100 draws; ${least} % have to be`
    : undefined
}

/** Whether an earlier draw, of another commit, had the seed of the last one. */
function sharesSeed(samples: readonly Sample[], last: Sample): boolean {
  const seed = drawOf(last.draw)?.seed
  return samples.some(({ draw, commit }) => commit !== last.commit && drawOf(draw)?.seed === seed)
}

/** The results as a page. */
export function samplePageOf(samples: readonly Sample[]): string {
  const draws = drawsOf(samples)
  const runs = draws.at(-1) ?? []
  const [last] = runs
  if (last === undefined) return '# Evidence: changes of the core drawn at random\n'
  const { noticed, drawn } = countsOf(runs)
  const unnoticed = runs.flatMap((it) => it.unnoticed)
  const open = unnoticed.filter(
    ({ judged, noticedSince }) => !noticedSince && !judged?.startsWith('the same'),
  )
  const undecided = runs.reduce((sum, it) => sum + (it.undecided ?? 0), 0)
  const [lowest, most] = intervalOf(noticed, drawn)
  const where = lowest >= least ? 'above' : most < least ? 'below' : 'around'
  return [
    '# Evidence: changes of the core drawn at random',
    '',
    'A whole run over the core takes two to five hours: on two cores, one to three changes are judged in a second. So `pnpm stryker --draw` draws changes by chance, over all',
    `of its files, each change with the same chance. The tests that reach a change judge it. The aim is ${least} %, and a draw whose interval ends below it fails.`,
    '',
    ...(sharesSeed(samples, last)
      ? [
          'The last draw is no independent sample. Its seed is that of an earlier draw, and a change keeps its number as long as no file before its own is changed. So the two draws share',
          'changes of the files that come first, and tests had been written for those that the earlier one had found. The rate and its interval lean upward. The tool now refuses such a seed.',
          '',
        ]
      : []),
    '|          |     |',
    '| -------- | --- |',
    `| changes that could be drawn | ${last.among} |`,
    `| drawn    | ${drawn}, by \`${runs.map(({ draw }) => draw).join('`, `')}\` |`,
    `| tests that had to notice | ${last.direct === true ? "the core's own" : "the core's own, then the rules of the stores"} |`,
    `| noticed  | ${noticed}: ${((100 * noticed) / drawn).toFixed(1)} %, of which ${runs.flatMap((it) => it.timedOut).length} by tests that did not end in time |`,
    ...(undecided === 0 ? [] : [`| drawn and not judged, for an error | ${undecided} |`]),
    `| the rate of all changes lies, in 95 of 100 draws | from ${lowest.toFixed(1)} % to ${most.toFixed(1)} %: ${where} the bar |`,
    `| not noticed | ${unnoticed.length}, of which ${open.length} are open |`,
    ...draws.slice(0, -1).map((earlier) => `| an earlier draw | ${lineOf(earlier)} |`),
    `| commit   | ${last.commit.slice(0, 12)}, ${last.date} |`,
    `| machine  | ${[...new Set(runs.map(({ machine }) => machine))].join('; ')} |`,
    '',
    '## Not noticed',
    '',
    'A person has read each of them; nothing checks what is said here.',
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
