import { UsageError } from '../cli/exit-code.ts'
import type { StoreKind } from '../place/store-place.ts'
import { didYouMean } from '../cli/suggest.ts'
import { type Difficulty, needsFile, needsTrace, type Scenario } from './scenario.ts'

/** Which scenarios are wanted. */
export interface Selection {
  readonly suite: Difficulty | 'all'
  /** Any of them; all when empty. */
  readonly categories: readonly string[]
  /** These ids, whatever else they are; all when empty. */
  readonly only: readonly string[]
  /** A trace to replay was given. `alone`: nothing else was asked for. */
  readonly trace: 'none' | 'with the suite' | 'alone'
  readonly store: StoreKind
}

/** The scenarios to run, and those left out with the reason. */
export interface Selected {
  readonly scenarios: readonly Scenario[]
  readonly skipped: readonly { readonly id: string; readonly why: string }[]
}

/** Chooses among the scenarios of a folder. Throws {@link UsageError} for a category that none has. */
export function selectScenarios(all: readonly Scenario[], selection: Selection): Selected {
  const known = [...new Set(all.map(({ category }) => category))]
  const unknown = selection.categories.find((category) => !known.includes(category))
  if (unknown !== undefined && known.length > 0) {
    throw new UsageError(
      `--category: no scenario is of category "${unknown}"${didYouMean(unknown, known)} There are ${known.join(', ')}.`,
    )
  }
  const wanted = all.filter((scenario) => isWanted(scenario, selection))
  const refusals = wanted.map((scenario) => ({ scenario, why: reasonAgainst(scenario, selection) }))
  return {
    scenarios: refusals.filter(({ why }) => why === undefined).map(({ scenario }) => scenario),
    skipped: refusals.flatMap(({ scenario, why }) => (why === undefined ? [] : [{ id: scenario.id, why }])),
  }
}

function isWanted(scenario: Scenario, { suite, categories, only, trace }: Selection): boolean {
  if (categories.length > 0 && !categories.includes(scenario.category)) return false
  if (only.length > 0) return only.includes(scenario.id)
  if (needsTrace(scenario)) return trace !== 'none'
  return trace !== 'alone' && (suite === 'all' || scenario.difficulty === suite)
}

function reasonAgainst(scenario: Scenario, { store, trace }: Selection): string | undefined {
  if (needsTrace(scenario) && trace === 'none') return 'it replays a trace: give it one with --trace FILE'
  if (store === 'memory' && needsFile(scenario))
    return 'it needs a store that outlives a process: --store sqlite or postgres'
  if (store !== 'postgres') return undefined
  if (scenario.durability === 'normal')
    return "durability 'normal' is for a file: a PostgreSQL server syncs as it is set up"
  const rate = scenario.expect.find(
    ({ measure, atLeast }) => measure.endsWith('PerSec') && atLeast !== undefined,
  )
  if (rate !== undefined)
    return `its bar on ${rate.measure} is that of a SQLite file: docs/postgresql.md has the speed there`
  return undefined
}
