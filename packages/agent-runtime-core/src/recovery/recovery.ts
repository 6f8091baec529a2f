/** The categories of failures: the kinds of failure taken together. Source: agent-scheduler-paper 7.5; `docs/semantics.md 14.3`. */
export const failureCategories = [
  'crash',
  'timeout',
  'resource_exhaustion',
  'invalid_output',
  'human_rejection',
] as const
export type FailureCategory = (typeof failureCategories)[number]

/** The answers to a failure, weakest first. Source: agent-scheduler-paper 7.5; `docs/semantics.md 14.3`. */
export const recoveryStrategies = [
  'retry_with_backoff',
  'retry_with_feedback',
  'fallback_agent',
  'restart',
  'human_escalation',
] as const
export type RecoveryStrategy = (typeof recoveryStrategies)[number]

/** The entry of a table for a category: a strategy, or `fail`, which is weaker than each of them. */
export type RecoveryChoice = RecoveryStrategy | 'fail'

/** The answer to each category. */
export type RecoveryTable = { readonly [Category in FailureCategory]: RecoveryChoice }

/** The table of the scheduler paper. */
export const defaultRecoveryTable: RecoveryTable = {
  crash: 'restart',
  timeout: 'retry_with_backoff',
  resource_exhaustion: 'fallback_agent',
  invalid_output: 'retry_with_backoff',
  human_rejection: 'retry_with_feedback',
}

/** The recovery of a task type, with its defaults filled in. */
export interface RecoveryPolicy {
  readonly table: RecoveryTable
  /** The models that `fallback_agent` goes on with, in this order. */
  readonly fallbackModels: readonly string[]
  /** The task type that it is handed over to after the last of them, the model that the other task has, and its estimated cost. */
  readonly fallback?: { readonly task: string; readonly model?: string; readonly cost?: number }
}

/** The strongest of several choices; `fail` of none. Source: `docs/semantics.md 14.3`. */
export function strongestRecovery(choices: readonly RecoveryChoice[]): RecoveryChoice {
  let strongest: RecoveryChoice = 'fail'
  for (const choice of choices) if (strengthOf(choice) > strengthOf(strongest)) strongest = choice
  return strongest
}

/** From 0, which is `fail`. */
export function strengthOf(choice: RecoveryChoice): number {
  return choice === 'fail' ? 0 : recoveryStrategies.indexOf(choice) + 1
}

/** The model after the one that a task has now; undefined when there is none. */
export function nextModel(models: readonly string[], current: string | undefined): string | undefined {
  return models[current === undefined ? 0 : models.indexOf(current) + 1]
}

/** The agent that `fallback_agent` goes on with: the next model, or after the last one another task, once. Undefined when there is neither. */
export function nextAgent(
  { fallbackModels, fallback }: Pick<RecoveryPolicy, 'fallbackModels' | 'fallback'>,
  { model: current, hasHandedOver }: { readonly model: string | undefined; readonly hasHandedOver: boolean },
):
  | { readonly model: string }
  | { readonly task: string; readonly taskModel?: string; readonly taskCost?: number }
  | undefined {
  if (hasHandedOver) return undefined
  const model = nextModel(fallbackModels, current)
  if (model !== undefined) return { model }
  if (fallback === undefined) return undefined
  const { task, model: taskModel, cost: taskCost } = fallback
  return {
    task,
    ...(taskModel === undefined ? {} : { taskModel }),
    ...(taskCost === undefined ? {} : { taskCost }),
  }
}
