import type { Run } from './pairs.ts'

/** Something whose cost is measured in pairs of runs, with it and without. */
export interface Bench {
  readonly command: string
  readonly description: string
  /** What a run is, for the report. */
  readonly what: (count: number) => string
  /** Words for the median rates with and without, where they are told. */
  readonly rates?: (on: number, off: number) => string
  /** Of what a run does `count`. */
  readonly unit: string
  readonly count: number
  readonly pairs: number
  /** What has to be left of the rate. */
  readonly leastShare: number
  /** The most that the processor time may grow to; undefined without a bound. */
  readonly mostCpu?: number
  readonly run: (on: boolean, file: string, count: number) => Promise<Run>
}
