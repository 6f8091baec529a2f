/** What a report of the gym says about a scenario, as far as it matters here. */
export interface Scenario {
  readonly id: string
  readonly pass: boolean
  /** Why it failed. */
  readonly reason?: string
  readonly expectations: readonly { readonly pass: boolean; readonly unit?: string }[]
}

/**
 * The ids of the scenarios that failed, when times or rates are all that any of them missed; otherwise none. A shared machine may be slow for a
 * minute, so those are measured again against the same bars. Whatever else a run finds counts the first time.
 */
export function toMeasureAgain(scenarios: readonly Scenario[]): readonly string[] {
  const missed = scenarios.filter(({ pass }) => !pass)
  return missed.every(missedOnlyTimes) ? missed.map(({ id }) => id) : []
}

function missedOnlyTimes({ expectations }: Scenario): boolean {
  const missed = expectations.filter(({ pass }) => !pass)
  return missed.length > 0 && missed.every(({ unit }) => /^(ms|.*\/s)$/.test(unit ?? ''))
}

/** The command of the gym for some of its scenarios, in place of those that it names. */
export function onlyThese(command: string, ids: readonly string[]): string {
  return [command.replaceAll(/ --only \S+/g, ''), ...ids.map((id) => `--only ${id}`)].join(' ')
}
