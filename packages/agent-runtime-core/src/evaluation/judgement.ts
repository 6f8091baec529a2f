import { instead } from '../check/rules.ts'
import { RuntimeError } from '../error/errors.ts'
import { type Dimension, dimensions, type Scores, type Weights } from './evaluation.ts'
import { isReadable } from '../check/readable.ts'
import { firstLines, show } from '../check/show.ts'

/** A judgement that was read: what it says, and which dimensions it says nothing of. */
export interface Judgement {
  readonly scores: Scores
  readonly missing: readonly Dimension[]
}

/** How a judgement is read. */
export interface ReadingOptions {
  /** Throw for a score that is missing or out of bounds; by default it is listed or clamped. */
  readonly strict?: boolean
}

/** How raw measures are read. */
export interface RawReadingOptions extends ReadingOptions {
  /** The number of revisions from which the score is the worst; 1 by default: then `revisions` is a share. */
  readonly maxRevisions?: number
}

/** How far from 1 the sum of weights may be. */
const sumTolerance = 1e-9
/** Measured: the more, the worse. */
const inverted: ReadonlySet<Dimension> = new Set(['errors', 'revisions'])

/**
 * Reads scores in which 1 is the best everywhere. They are clamped to 0 to 1; a missing dimension counts as 0
 * and is listed. Throws `invalid_argument` for an unknown dimension, a value that is not a finite number, and
 * if no dimension is given; with `strict` also for a missing score or one out of bounds. Source:
 * `docs/semantics.md 15.2, 15.4`.
 */
export function readNormalised(given: unknown, { strict = false }: ReadingOptions = {}): Judgement {
  const found = readDimensions(given, strict, () => 1)
  return judgement(found, (dimension) => clamp(found.get(dimension) ?? 0))
}

/**
 * Reads measures as they are taken: `errors` is the share of failures and `revisions` how often work was sent back, of `maxRevisions`;
 * both are inverted. One that is not given counts as 0, no error and no revision, and is listed. Throws as {@link readNormalised}
 * does. Source: agent-scheduler-paper 8.2; `docs/semantics.md 15.2, 15.4`.
 */
export function readRaw(
  given: unknown,
  { strict = false, maxRevisions = 1 }: RawReadingOptions = {},
): Judgement {
  const mostOf = (dimension: Dimension) => (dimension === 'revisions' ? maxRevisions : 1)
  const found = readDimensions(given, strict, mostOf)
  return judgement(found, (dimension) => {
    const value = clamp((found.get(dimension) ?? 0) / mostOf(dimension))
    return inverted.has(dimension) ? 1 - value : value
  })
}

/**
 * Reads weights; a missing dimension has the weight 0. Throws `invalid_argument`, which names the sum if it
 * is not 1, and every invalid weight. Source: `docs/semantics.md 15.1`.
 */
export function readWeights(given: unknown, what = 'weights'): Weights {
  assertObject(given, what)
  const problems = unknownNames(given, what)
  for (const dimension of dimensions) {
    const value = given[dimension]
    if (value !== undefined && !(isFinite(value) && value >= 0))
      problems.push(`${what}.${dimension}: a finite number, 0 or more; given ${show(value)}`)
  }
  if (problems.length > 0) throw refused(problems)
  const weights = byDimension((dimension) => (given[dimension] as number | undefined) ?? 0)
  const sum = dimensions.reduce((total, dimension) => total + weights[dimension], 0)
  if (Math.abs(sum - 1) <= sumTolerance) return weights
  throw new RuntimeError('invalid_argument', `${what}: weights that sum to 1; the given ones sum to ${sum}`, {
    details: { sum },
  })
}

/** The weighted sum of scores, 0 to 1. Source: agent-scheduler-paper Def. 14; `docs/semantics.md 15.2`. */
export function compositeOf(scores: Scores, weights: Weights): number {
  return clamp(dimensions.reduce((sum, dimension) => sum + weights[dimension] * scores[dimension], 0))
}

/** How far two judgements are apart, 0 to 1. Source: agent-scheduler-paper 8.4; `docs/semantics.md 15.3`. */
export function distanceBetween(a: Scores, b: Scores, weights: Weights): number {
  let sum = 0
  for (const dimension of dimensions) sum += weights[dimension] * (a[dimension] - b[dimension]) ** 2
  return Math.sqrt(sum)
}

/** The mean of `count` judgements, with one more. */
export function averageWith(average: Scores, count: number, scores: Scores): Scores {
  return byDimension((dimension) => {
    const mean = average[dimension]
    return clamp(mean + (scores[dimension] - mean) / (count + 1))
  })
}

/** How a judgement departs from the average of those before it. Source: `docs/semantics.md 15.3`. */
export function departureFrom(
  average: Scores,
  scores: Scores,
  weights: Weights,
): { readonly distance: number; readonly change: number } {
  return {
    distance: distanceBetween(scores, average, weights),
    change: compositeOf(scores, weights) - compositeOf(average, weights),
  }
}

/**
 * The agents with the nearest averages, nearest first, equal ones by id. Source: `docs/semantics.md 15.3`.
 */
export function nearestTo<Agent extends { readonly agentId: string; readonly average: Scores }>(
  average: Scores,
  agents: Iterable<Agent>,
  weights: Weights,
  limit: number,
): (Agent & { readonly distance: number })[] {
  const found: (Agent & { readonly distance: number })[] = []
  for (const agent of agents) {
    const distance = distanceBetween(average, agent.average, weights)
    const comesBefore = (other: { readonly agentId: string; readonly distance: number }) =>
      distance < other.distance || (distance === other.distance && agent.agentId < other.agentId)
    const at = found.findIndex(comesBefore)
    found.splice(at === -1 ? found.length : at, 0, { ...agent, distance })
    found.length = Math.min(found.length, limit)
  }
  return found
}

/** The dimensions that are given, as they are given. */
function readDimensions(
  given: unknown,
  strict: boolean,
  mostOf: (dimension: Dimension) => number,
): ReadonlyMap<Dimension, number> {
  assertObject(given, 'scores')
  const problems = unknownNames(given, 'scores')
  const found = new Map<Dimension, number>()
  for (const dimension of dimensions) {
    const value = given[dimension]
    const most = mostOf(dimension)
    if (value === undefined) {
      if (strict) problems.push(`scores.${dimension}: a number from 0 to ${most}; not given`)
    } else if (!isFinite(value) || (strict && (value < 0 || value > most)))
      problems.push(
        `scores.${dimension}: ${strict ? `a number from 0 to ${most}` : 'a finite number'}; given ${show(value)}`,
      )
    else found.set(dimension, value)
  }
  if (problems.length === 0 && found.size === 0)
    problems.push(`scores: at least one of ${dimensions.join(', ')}; none given`)
  if (problems.length > 0) throw refused(problems)
  return found
}

function judgement(
  found: ReadonlyMap<Dimension, number>,
  score: (dimension: Dimension) => number,
): Judgement {
  return { scores: byDimension(score), missing: dimensions.filter((dimension) => !found.has(dimension)) }
}

function byDimension(valueOf: (dimension: Dimension) => number): Readonly<Record<Dimension, number>> {
  const entries = dimensions.map((dimension) => [dimension, valueOf(dimension)])
  return Object.fromEntries(entries) as Record<Dimension, number>
}

function assertObject(given: unknown, what: string): asserts given is Readonly<Record<string, unknown>> {
  if (isReadable(given)) return
  throw refused([`${what}: an object with ${dimensions.join(', ')}; given ${show(given)}`])
}

function unknownNames(given: Readonly<Record<string, unknown>>, what: string): string[] {
  const isKnown = (name: string) => (dimensions as readonly string[]).includes(name)
  return Object.keys(given)
    .filter((name) => !isKnown(name))
    .map((name) => `${what}.${name}: no such dimension${instead(name, dimensions)}`)
}

function refused(problems: readonly string[]): RuntimeError {
  return new RuntimeError('invalid_argument', firstLines(problems).join('\n'))
}

function isFinite(value: unknown): value is number {
  return Number.isFinite(value)
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value))
}
