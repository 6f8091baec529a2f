import type { Figures } from './run/messages.ts'
import { summarize, type Summary } from './statistics.ts'

/** One run of one workload by one system. */
export interface Result {
  readonly system: string
  readonly workload: string
  readonly round: number
  readonly figures: Figures
}

export interface Missing {
  readonly system: string
  readonly workload: string
  readonly reason: string
}

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly system: string
  readonly disk: string
}

/** All that a run of the benchmark found, as it is written into the JSON file. */
export interface Findings {
  readonly command: string
  /** The day, as in 2026-11-25. */
  readonly day: string
  readonly minutes: number
  readonly machine: Machine
  /** How many processes wanted a core before the first run, and the mean of what was seen before each later round. */
  readonly load: { readonly before: number; readonly between: number }
  /** By name: Node, servers and packages. */
  readonly versions: Readonly<Record<string, string>>
  readonly systems: readonly {
    readonly id: string
    readonly name: string
    readonly settings: string
    readonly kind: string
  }[]
  readonly results: readonly Result[]
  readonly leftOut: readonly Missing[]
  readonly failed: readonly Missing[]
}

/** What all runs found of one figure, or nothing. */
export function summaryOf(
  { results }: Pick<Findings, 'results'>,
  system: string,
  workload: string,
  figure: string,
): Summary | undefined {
  const values = results
    .filter((it) => it.system === system && it.workload === workload)
    .flatMap(({ figures }) => figures[figure] ?? [])
    .filter((value) => Number.isFinite(value))
  return values.length === 0 ? undefined : summarize(values)
}
