import { RESERVED } from '../wait/wait.ts'

/** The stages of a job in a marketplace, in order. Each is over once its result is recorded. Source: agent-scheduler-paper 3.6; `docs/semantics.md 13.6`. */
export const marketStages = [
  'job',
  'proposal',
  'contract',
  'decomposition',
  'execution',
  'evaluation',
] as const
export type MarketStage = (typeof marketStages)[number]

/** The key of the step that the result of a stage is recorded as. */
export function marketKey(stage: MarketStage): string {
  return `${MARKET}${stage}`
}

/** The key of the child that a stage of the program's own runs as. */
export function marketTaskKey(stage: MarketStage): string {
  return `${MARKET}${stage}${TASK}`
}

/** The stage that a key is of; undefined for another key. */
export function marketStageIn(key: string): MarketStage | undefined {
  if (!key.startsWith(MARKET)) return undefined
  const name = key.slice(MARKET.length).replace(TASK, '')
  return marketStages.find((stage) => stage === name)
}

/** The stage that a job is in once a stage is recorded: the next one, or the last. */
export function marketStageAfter(recorded: MarketStage): MarketStage {
  return marketStages[marketStages.indexOf(recorded) + 1] ?? recorded
}

/** Words for what a key of this room stands for; undefined for another key. */
export function marketKeyText(key: string): string | undefined {
  const stage = marketStageIn(key)
  if (stage === undefined) return undefined
  return key.endsWith(TASK) ? `the task of stage '${stage}'` : `stage '${stage}'`
}

const MARKET = `${RESERVED}market/`
const TASK = '/task'
