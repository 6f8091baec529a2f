import { join } from 'node:path'

/** Where a run of a scenario keeps its files, all below one temporary folder. */
export interface ScenarioFiles {
  readonly tree: string
  readonly results: string
  readonly tools: string
  readonly log: string
  readonly ledger: string
  readonly facts: string
}

export function scenarioFiles(folder: string): ScenarioFiles {
  return {
    tree: join(folder, 'tree'),
    results: join(folder, 'results'),
    tools: join(folder, 'tools'),
    log: join(folder, 'followed.log'),
    ledger: join(folder, 'ledger.txt'),
    facts: join(folder, 'facts.jsonl'),
  }
}
