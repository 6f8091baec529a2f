import type { SeededRandom } from '../../src/testing/index.ts'

/** A value, drawn. */
export type Draw = (random: SeededRandom) => unknown

/** One of these. */
export const of =
  (...values: readonly unknown[]): Draw =>
  (random) =>
    random.pick(values)

/** An object with one of these in each field; without a field that is undefined. */
export function fields(shape: Readonly<Record<string, Draw | readonly unknown[]>>): Draw {
  return (random) => {
    const drawn = Object.entries(shape).map(([name, field]) => [
      name,
      typeof field === 'function' ? field(random) : random.pick(field),
    ])
    return Object.fromEntries(drawn.filter(([, value]) => value !== undefined)) as unknown
  }
}

/** So many of these at the most. */
export function listOf(item: Draw, most = 4): Draw {
  return (random) => Array.from({ length: random.int(most + 1) }, () => item(random))
}

/** One of these draws. */
export const either =
  (...draws: readonly Draw[]): Draw =>
  (random) =>
    random.pick(draws)(random)
