import { showValue } from '../report/numbers.ts'

/** Where a figure has to be for its promise to be kept. */
type Bar = { readonly equals: number } | { readonly atMost: number } | { readonly atLeast: number }

/** What was measured of a promise, and its bar, if it has one. */
export interface Figure {
  readonly what: string
  /** Null where there was nothing to measure it on: that is below every bar. */
  readonly value: number | null
  readonly unit: string
  readonly bar?: Bar
}

/** What came of one promise: its figures, and what else went wrong, in words. */
export interface Measured {
  readonly promise: string
  readonly figures: readonly Figure[]
  readonly faults: readonly string[]
}

/** Every bar that was missed, with figure and bar, and every fault; none where all promises were kept. */
export function missesIn(measured: readonly Measured[]): readonly string[] {
  return measured.flatMap(({ promise, figures, faults }) => [
    ...figures
      .filter((figure) => !holds(figure))
      .map(
        (figure) =>
          `${promise}: ${figure.what}: ${showValue(figure.value, figure.unit)}, the bar is ${barOf(figure)}`,
      ),
    ...faults.map((fault) => `${promise}: ${fault}`),
  ])
}

/** Whether a figure is where its bar wants it. */
export function holds({ value, bar }: Figure): boolean {
  if (bar === undefined) return true
  if (value === null || Number.isNaN(value)) return false
  if ('equals' in bar) return value === bar.equals
  return 'atMost' in bar ? value <= bar.atMost : value >= bar.atLeast
}

/** A bar in words; empty without one. */
export function barOf({ bar, unit }: Figure): string {
  if (bar === undefined) return ''
  if ('equals' in bar) return showValue(bar.equals, unit)
  return 'atMost' in bar
    ? `at most ${showValue(bar.atMost, unit)}`
    : `at least ${showValue(bar.atLeast, unit)}`
}
