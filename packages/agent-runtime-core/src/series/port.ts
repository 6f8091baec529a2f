import type { Series, SeriesFilter, SeriesRun } from '../store/series.ts'
import type { Lane } from '../task/lane.ts'
import type { Depth, Sample } from './sample.ts'

/** Writes about the past that a store keeps. */
export interface SeriesWrites {
  /**
   * Keeps samples. A sample takes the place of an earlier one of the same step, type and lane, so a repeated write changes nothing. Samples that are
   * older than {@link sampleAges} are deleted. Source: `docs/decisions/0052-samples.md`.
   */
  sample: {
    fields: { readonly samples: readonly Sample[] }
    outcome: { readonly kept: number }
  }
}

/** Questions about the past that a store keeps. */
export interface SeriesReads {
  /** How many tasks ran and were queued in the past: from the newest runs, and from samples where those do not reach. */
  series: { fields: { readonly filter: SeriesFilter }; answer: Series }
  /**
   * Runs by their dispatch numbers, and what is queued now: those `after` a number, the oldest first; those `before` one, the newest first;
   * or `these`.
   */
  runs: {
    fields: {
      readonly after?: number | undefined
      readonly before?: number | undefined
      readonly these?: readonly number[] | undefined
      readonly limit: number
    }
    answer: { readonly runs: readonly NumberedRun[]; readonly depths: readonly Depth[] }
  }
  /** Samples that end after `from` and not after `to`: of one type, of all types together (`''`), or without `type` all there are. */
  samples: {
    fields: {
      readonly stepMs: number
      readonly from: number
      readonly to: number
      readonly type?: string | undefined
      readonly lane?: Lane | undefined
    }
    answer: readonly Sample[]
  }
  /** When the newest step of a length ends of which there is a sample. */
  lastSample: { fields: { readonly stepMs: number }; answer: number | undefined }
}

/** A run with its dispatch number. */
export interface NumberedRun extends SeriesRun {
  readonly number: number
}
