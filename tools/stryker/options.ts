import { areaOf, areas } from './areas.ts'
import { type Draw, drawOf } from './draw.ts'
import type { Sample } from './sample.ts'
import type { KeptScore } from './scores.ts'

const usage = `usage: node tools/stryker.ts [--of ${Object.keys(areas).join('|')}] [--keep FILE] [--draw SEED:FROM-TO [--minutes N]] [--direct] [PATTERN…], such as queue/*.ts`

/** The arguments of a run. */
export interface Options {
  readonly name: string
  readonly keep?: string
  readonly draw?: Draw
  readonly minutes?: number
  readonly direct: boolean
  readonly patterns: readonly string[]
}

/** Reads the arguments, or says what is wrong with them. */
export function readOptions(args: readonly string[]): Options | { readonly wrong: string } {
  const left = args.filter((arg) => arg !== '--')
  const valueOf = (flag: string) => (left[0] === flag ? (left.splice(0, 2)[1] ?? '') : undefined)
  const name = valueOf('--of') ?? 'core'
  const keep = valueOf('--keep')
  const drawn = valueOf('--draw')
  const draw = drawn === undefined ? undefined : drawOf(drawn)
  const minutes = valueOf('--minutes')
  const direct = left[0] === '--direct' && left.shift() !== undefined
  if (areaOf(name) === undefined || keep === '' || left.some((arg) => arg.startsWith('-')))
    return { wrong: usage }
  if (drawn !== undefined && draw === undefined)
    return { wrong: `--draw takes SEED:FROM-TO, such as a:0-0.02, not ${drawn}\n${usage}` }
  if (draw !== undefined && (name !== 'core' || left.length > 0))
    return { wrong: '--draw takes its changes from the whole core: leave --of and PATTERN out' }
  if (minutes !== undefined && draw === undefined)
    return { wrong: '--minutes ends a draw: give --draw with it' }
  if (minutes !== undefined && !(Number(minutes) > 0 && Number.isFinite(Number(minutes))))
    return { wrong: `--minutes takes a number above 0, not ${minutes}` }
  return {
    name,
    ...(keep === undefined ? {} : { keep }),
    ...(draw === undefined ? {} : { draw }),
    ...(minutes === undefined ? {} : { minutes: Number(minutes) }),
    direct,
    patterns: left,
  }
}

/** Why what a file keeps cannot be kept together with a run on this commit. */
export function problemOfKept(
  kept: readonly (Sample | KeptScore)[],
  draw: Draw | undefined,
  commit: string,
): string | undefined {
  const samples = kept.filter((it) => 'draw' in it)
  if (samples.length !== (draw === undefined ? 0 : kept.length))
    return draw === undefined
      ? 'the file of --keep has draws, and this is none: name another file'
      : 'the file of --keep has results of whole files, and this is a draw: name another file'
  if (draw === undefined) return undefined
  const used = samples.flatMap((it) => {
    const theirs = drawOf(it.draw)
    return theirs?.seed === draw.seed ? [{ ...it, theirs }] : []
  })
  const other = used.find((it) => it.commit !== commit)
  const twice = used.find(({ theirs }) => theirs.from < draw.to && draw.from < theirs.to)
  // Most places stay the same from one commit to the next, and tests were written for what the earlier draw has found there.
  if (other !== undefined)
    return `the file of --keep has ${other.draw} of commit ${other.commit.slice(0, 12)}, and the same seed draws much the same changes again: take another seed`
  if (twice !== undefined)
    return `the file of --keep has ${twice.draw} of this commit, whose changes would count twice: begin where it ends`
  return undefined
}
