// A plugin of Stryker that draws changes by chance: it makes them in the order of their places between 0 and 1, and all others are "not drawn" before
// a test runs. So a run that is ended early has drawn less, and nothing else is different.
import { createHash } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import type { ReportedMutant } from './scores.ts'

/** Changes whose place is in this part are drawn. Parts of one seed that follow each other make one larger draw. */
export interface Draw {
  readonly seed: string
  readonly from: number
  readonly to: number
}

/** Reads `SEED:FROM-TO`, such as `a:0-0.02`; undefined for anything else. */
export function drawOf(text: string): Draw | undefined {
  const [, seed = '', from = '', to = ''] =
    /^(\w+):(\d(?:\.\d+)?(?:e-\d+)?)-(\d(?:\.\d+)?(?:e-\d+)?)$/.exec(text) ?? []
  const draw = { seed, from: Number(from), to: Number(to) }
  return seed !== '' && draw.from < draw.to && draw.to <= 1 ? draw : undefined
}

/** Where a change of that number stands between 0 and 1: by chance, and by the seed the same in every run on one commit. */
export function placeOf(seed: string, id: string): number {
  return createHash('sha256').update(`${seed} ${id}`).digest().readUInt32BE(0) / 2 ** 32
}

/** The numbers that are drawn, in the order of their places. */
export function drawnOf({ seed, from, to }: Draw, ids: readonly string[]): readonly string[] {
  return ids
    .map((id) => ({ id, place: placeOf(seed, id) }))
    .filter(({ place }) => place >= from && place < to)
    .toSorted((a, b) => a.place - b.place)
    .map(({ id }) => id)
}

/** A line of what a run writes: all changes that could be drawn, then each that was tried. */
export type DrawLine = { readonly ids: readonly string[] } | { readonly tried: Tried }

export type Tried = ReportedMutant & { readonly id: string; readonly fileName: string }

interface Change {
  readonly id: string
}

const draw = drawOf(process.env['STRYKER_DRAW'] ?? '')
const write = (line: DrawLine) =>
  appendFileSync(process.env['STRYKER_DRAWN'] ?? '/dev/null', `${JSON.stringify(line)}\n`)

export const strykerPlugins = [
  {
    kind: 'Checker',
    name: 'draw',
    value: {
      init: () => Promise.resolve(),
      /** One by one, so that they stay in this order. */
      group: (changes: readonly Change[]) => {
        const ids = changes.map(({ id }) => id)
        const drawn = draw === undefined ? [] : drawnOf(draw, ids)
        const isDrawn = new Set(drawn)
        return Promise.resolve([...drawn.map((id) => [id]), ids.filter((id) => !isDrawn.has(id))])
      },
      check: (changes: readonly Change[]) =>
        Promise.resolve(
          Object.fromEntries(
            changes.map(({ id }) => [
              id,
              draw !== undefined && drawnOf(draw, [id]).length > 0
                ? { status: 'passed' }
                : { status: 'compileError', reason: 'not drawn' },
            ]),
          ),
        ),
    },
  },
  {
    kind: 'Reporter',
    name: 'draw',
    value: {
      onMutationTestingPlanReady: ({ mutantPlans }: Plans) =>
        write({
          ids: mutantPlans.filter(({ plan }) => plan !== 'EarlyResult').map(({ mutant }) => mutant.id),
        }),
      onMutantTested: ({ id, fileName, mutatorName, replacement, status, location }: Tried) => {
        if (status !== 'CompileError' && status !== 'Ignored')
          write({ tried: { id, fileName, mutatorName, replacement: replacement ?? '', status, location } })
      },
    },
  },
]

interface Plans {
  readonly mutantPlans: readonly { readonly plan: string; readonly mutant: Change }[]
}
