import {
  assertOptions,
  budgetTerms,
  type EncodeOptions,
  type ExecutionConfig,
  type ExecutionStore,
  historyEdited,
  invalid,
  isRecord,
  nameRule,
  type OutcomeOf,
  type Receipt as StoreReceipt,
  type Rules,
  RuntimeError,
  type ValueCodec,
  type Write,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { ForkOptions, RetryOptions } from '../api/client.ts'

/** The dependencies of a fork. */
export interface ForkDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly values: ValueCodec
}

/** Submits a failed, canceled or parked task again, with its completed steps. Source: `docs/semantics.md 1.2, 6.3`. */
export function retryTask(deps: ForkDeps, taskId: string, options: RetryOptions = {}): Promise<StoreReceipt> {
  assertOptions('retry', options, retryRules)
  return submitFork(deps, 'retry', {
    kind: 'fork',
    taskId,
    edits: {},
    onlyOver: true,
    change: changeOf('retry', options),
  })
}

/** Submits a task again from one of its steps on. Source: `docs/semantics.md 6.3`. */
export function forkTask(deps: ForkDeps, taskId: string, options: ForkOptions = {}): Promise<StoreReceipt> {
  assertOptions('fork', options, forkRules)
  const { fromStep, edits = {}, ...change } = options
  const { maxPayloadBytes } = deps.config
  const encoded = Object.entries(edits).map(([key, value]) => [
    key,
    editText(deps.values, value, { what: `the result of step '${key}'`, maxBytes: maxPayloadBytes }),
  ])
  return submitFork(deps, 'fork', {
    kind: 'fork',
    taskId,
    edits: Object.fromEntries(encoded) as Record<string, string>,
    onlyOver: false,
    change: changeOf('fork', change),
    ...(fromStep === undefined ? {} : { fromStep }),
  })
}

/** The store reads who won a race and which branches an all has, so the names of an object are not sealed with what it holds. */
function editText(values: ValueCodec, value: unknown, options: EncodeOptions): string {
  if (!isRecord(value) || Object.getPrototypeOf(value) !== Object.prototype)
    return values.encode(value, options)
  const isOutcome = Object.keys(value).length === 2 && 'winner' in value && 'value' in value
  return values.encodeFields(value, { ...options, open: isOutcome ? ['winner'] : [] })
}

function changeOf(call: string, { budget, ...options }: RetryOptions): Write<'fork'>['change'] {
  const change = withoutUndefined(options)
  return budget === undefined ? change : { ...change, budget: budgetTerms(`${call} option budget`, budget) }
}

async function submitFork({ store }: ForkDeps, call: string, write: Write<'fork'>): Promise<StoreReceipt> {
  const outcome = await store.write(write)
  const { taskId } = write
  switch (outcome.as) {
    case 'submitted':
      return outcome.receipt
    case 'unknown_task':
      throw new RuntimeError('not_found', `${call}: there is no accepted task ${taskId}`, {
        details: { taskId },
      })
    case 'not_over':
      throw invalid(
        `${call}: task ${taskId} is ${outcome.state}; only failed, canceled and parked tasks are tried again, others can be forked`,
      )
    case 'held':
      throw invalid(
        `${call}: task ${taskId} was started with startTask and run by its caller; a worker cannot run it`,
      )
    case 'pipeline':
      throw invalid(
        `${call}: task ${taskId} is a pipeline, and the log of its events belongs to it; submit the pipeline again, with the same input`,
      )
    case 'unknown_step':
      if (outcome.inDoubt === true)
        throw invalid(
          `${call}: step '${outcome.key}' of task ${taskId} is in doubt: nobody knows how it ended. If it took effect, pass ` +
            `edits: { '${outcome.key}': RESULT }; otherwise the step's inDoubt option decides what the new task does`,
        )
      throw invalid(`${call}: task ${taskId} has not completed a step '${outcome.key}'`)
    case 'inside_decision':
      throw invalid(
        `${call}: step '${outcome.key}' of task ${taskId} cannot be edited: it is in a branch of '${outcome.decision}', whose recorded ` +
          `outcome replaces it; edit '${outcome.decision}' itself, or fork from it to run it again`,
      )
    case 'no_decision':
      throw invalid(`${call} edit '${outcome.key}': ${decisionText(outcome)}`)
    case 'edited':
      throw historyEdited(taskId, outcome.fault, `${call} it again`)
    case 'not_editable':
      throw invalid(`${call} edit '${outcome.key}': ${whyNot(write, outcome)}`)
  }
}

function decisionText({ branches, names }: Extract<OutcomeOf<'fork'>, { as: 'no_decision' }>): string {
  if (branches === 'race')
    return 'it is a race: its result is { winner, value }, the name of a branch and the result of that branch'
  const of = names.length === 0 ? '' : `: ${names.join(', ')}`
  return `it is an all: its result is an object with the result of each of its branches${of}`
}

function whyNot(
  { taskId, fromStep }: Write<'fork'>,
  { key, recorded, inDoubt }: Extract<OutcomeOf<'fork'>, { as: 'not_editable' }>,
): string {
  switch (inDoubt === true ? 'step' : recorded) {
    case undefined:
      return `task ${taskId} has not completed a step '${key}'`
    case 'step':
      return `a fork from '${fromStep}' runs this step again; only results of steps before it can be edited`
    default:
      return `it is ${recorded === 'approval' ? 'an' : 'a'} ${recorded}; only the results of steps can be edited`
  }
}

const retryRules: Rules<RetryOptions> = {
  taskId: nameRule,
  idempotencyKey: nameRule,
  budget: ['an object with limits', isRecord],
}
const forkRules: Rules<ForkOptions> = {
  ...retryRules,
  fromStep: ['the key of a completed step', (value) => typeof value === 'string' && value.length > 0],
  edits: ['an object with results by step key', isRecord],
}
