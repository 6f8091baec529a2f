import {
  type ChildRestart,
  childRestarts,
  ConfigError,
  type ConfigProblem,
  flagRule,
  instead,
  isName,
  isOneOf,
  isRecord,
  problemsIn,
  type Rules,
  type SiblingState,
  siblingStates,
  supervisionStrategies,
  supervisorEnds,
  wholeNumber,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { Declarations } from '../api/exchange.ts'
import type { NodeOptions } from '../api/graphs.ts'
import type { InputOf, OutputOf, Schema } from '../api/schema.ts'
import type { SupervisorSettings } from '../api/supervisors.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskDefinitionOptions } from '../api/task-type.ts'
import type { HandlerContext } from '../durable/context.ts'
import { naming } from '../terms/named-tasks.ts'
import { isSupervisedId, shutdownRule, supervisedIdRule } from '../terms/supervised-options.ts'
import { submitRules } from '../terms/submit-rules.ts'
import { defineTask, madeBy, optionProblems, partsOnly, taskTermsOf } from '../terms/task-definition.ts'

/** Task definitions by the id of the child. */
export type SupervisedTasks = Readonly<Record<string, TaskDefinition>>

/** A child that a supervisor begins with. */
export interface DefinedChild<Task extends TaskDefinition, Input, Before = unknown> {
  readonly task: Task
  /**
   * Makes the child's input of the supervisor's, and of the results, by id, of the children that had to complete before it; without it the input is
   * undefined. It is called when the child starts, may be called again in later passes, and may not wait. To get the
   * results, neither parameter may have a default value or be a rest parameter.
   */
  readonly input?:
    | ((
        input: Input,
        before: Before,
      ) => Task extends TaskDefinition<string, infer ChildInput> ? ChildInput : never)
    | undefined
  /**
   * When it starts again: after it has failed (`transient`, the default), after it has completed, too (`permanent`), or never
   * (`temporary`).
   */
  readonly restart?: ChildRestart | undefined
  /**
   * Children before it that have to be as far before it starts: a list of those that must have completed, or an object that says of each whether it must have
   * `completed`, or be `ready`, as it says itself with `ctx.ready`.
   */
  readonly after?: readonly string[] | Readonly<Record<string, SiblingState>> | undefined
  /** How long it may take to stop before it counts as leaked or is ended, ms, at most a day: `shutdownMs` of the supervisor by default. */
  readonly shutdownMs?: number | undefined
  readonly options?: NodeOptions | undefined
}

/** The output of a supervisor: the results of the children that completed, by id, or `null`. */
export type SupervisorOutput<Tasks extends SupervisedTasks, Results extends boolean> = Results extends true
  ? {
      readonly [K in keyof Tasks]?: Tasks[K] extends TaskDefinition<string, infer _, infer Output>
        ? Output
        : never
    }
  : null

export interface SupervisorDefinition<
  Type extends string,
  Input extends Schema,
  Tasks extends SupervisedTasks,
  Results extends boolean = false,
>
  extends
    Omit<TaskDefinitionOptions<Type, Input, undefined>, 'output' | 'signals' | 'approvals' | 'emits'>,
    SupervisorSettings {
  /** By id, in the order in which they start; a child may be a supervisor itself. */
  readonly children?:
    | {
        readonly [K in keyof Tasks]: DefinedChild<Tasks[K], OutputOf<Input>, SupervisorOutput<Tasks, true>>
      }
    | undefined
  /**
   * `true`: the task gives the results of `children` by id, without those that were canceled or, being `temporary`, failed. By default it
   * gives `null`. The results count as one output of the task.
   */
  readonly results?: Results | undefined
}

/**
 * Defines a supervisor as a task type: it is submitted like any other task, starts its children, and waits without a slot. A child that
 * fails is started again in the commit of its failure, with all that it had recorded; too many restarts fail the supervisor, and the one
 * above it decides. The task is done when no child is left, and gives `null`, or with `results` what its children gave. Throws `ConfigError` naming every field that is wrong. Source:
 * `docs/supervision.md`; `docs/semantics.md 14.1, 14.2`.
 */
export function defineSupervisor<
  const Type extends string,
  Input extends Schema,
  Tasks extends SupervisedTasks = Readonly<Record<never, TaskDefinition>>,
  const Results extends boolean = false,
>(
  definition: SupervisorDefinition<Type, Input, Tasks, Results>,
): TaskDefinition<Type, InputOf<Input>, SupervisorOutput<Tasks, Results>> {
  if (!isRecord(definition)) {
    const allowed = 'an object with type, input, children, strategy and the other options of defineTask'
    throw new ConfigError([{ path: 'supervisor', allowed, given: definition }])
  }
  const { children, strategy, maxRestarts, periodMs, endsWith, shutdownMs, results, ...options } =
    definition as SupervisorDefinition<Type, Input, Tasks, Results>
  const problems = [
    ...problemsIn(
      withoutUndefined({ strategy, maxRestarts, periodMs, endsWith, shutdownMs, results }),
      settingRules,
    ),
    ...childrenProblems(children),
  ]
  const which = isName(options.type) ? `supervisor '${options.type}': ` : 'supervisor: '
  const all = [
    ...problems.map((it) => ({ ...it, path: which + it.path })),
    ...optionProblems(options, { kind: 'supervisor', own: ownOptions, without: partsOnly }),
  ]
  if (all.length > 0) throw new ConfigError(all)
  const terms = {
    strategy: strategy ?? 'one_for_one',
    maxRestarts: maxRestarts ?? 5,
    periodMs: periodMs ?? 60_000,
    endsWith: endsWith ?? 'children',
    ...(shutdownMs === undefined ? {} : { shutdownMs }),
  } as const
  const entries = Object.entries<DefinedChild<TaskDefinition, never>>((children ?? {}) as never)
  const supervisor = defineTask(
    options as TaskDefinitionOptions<Type, Input, undefined, Declarations<undefined, undefined, undefined>>,
    async (ctx, input) => {
      const first = entries.map(
        ([
          id,
          { task, input: make, restart = 'transient', options: given = {}, after = {}, shutdownMs: own },
        ]) => ({
          id,
          restart,
          task,
          shutdownMs: own,
          input:
            make === undefined
              ? undefined
              : (before: unknown) => (make as (from: unknown, before: unknown) => unknown)(input, before),
          ignoresBefore: make !== undefined && make.length < 2,
          options: given,
          after: statesIn(after).map(([sibling, until]) => ({
            id: sibling,
            restart: entries.find(([other]) => other === sibling)?.[1].restart ?? 'transient',
            until,
          })),
        }),
      )
      const host = ctx as unknown as HandlerContext
      const ended = await host.supervise(terms, first)
      if (results !== true) return null
      // A fork starts its children anew, so its results are another step.
      const [[, { taskId }] = ['', { taskId: '' }]] = ended
      return ctx.step(`results of ${taskId} and after`, () => host.outputsOf(ended))
    },
  ) as TaskDefinition<Type, InputOf<Input>, SupervisorOutput<Tasks, Results>>
  return naming(supervisor, 'supervisor', () =>
    entries.map(([id, child]) => ({ place: `child '${id}' task`, type: child.task.type })),
  )
}

function childrenProblems(children: unknown): readonly ConfigProblem[] {
  if (children === undefined) return []
  if (!isRecord(children))
    return [{ path: 'children', allowed: 'an object of children by id', given: children }]
  return Object.entries(children).flatMap(([id, child]) => {
    const path = `child '${id}'`
    const own = isSupervisedId(id) ? [] : [{ path, allowed: supervisedIdRule, given: id }]
    if (!isRecord(child))
      return [...own, { path, allowed: 'an object with task, input, restart', given: child }]
    return [
      ...own,
      ...problemsIn(child, childRules, { path: `${path} `, required: ['task'] }),
      ...afterProblems(children, id, child['after']),
    ]
  })
}

/** A child comes after children that stand before it, and a permanent one never completes for good. */
function afterProblems(
  children: Readonly<Record<string, unknown>>,
  id: string,
  after: unknown,
): readonly ConfigProblem[] {
  if (!isAfter(after)) return []
  const ids = Object.keys(children)
  const before = ids.slice(0, ids.indexOf(id))
  return statesIn(after).flatMap(([sibling, until]): readonly ConfigProblem[] => {
    const path = `child '${id}' after`
    if (!before.includes(sibling)) {
      const those = before.length === 0 ? ', and there are none' : instead(sibling, before)
      return [{ path, allowed: `children that stand before it${those}`, given: sibling }]
    }
    const other = children[sibling]
    const isPermanent = isRecord(other) && other['restart'] === 'permanent'
    return until === 'completed' && isPermanent
      ? [
          {
            path,
            allowed: `{ ${sibling}: 'ready' }, because '${sibling}' is permanent and never completes for good`,
          },
        ]
      : []
  })
}

function statesIn(
  after: readonly string[] | Readonly<Record<string, SiblingState>>,
): readonly (readonly [string, SiblingState])[] {
  return Array.isArray(after)
    ? (after as readonly string[]).map((id) => [id, 'completed'] as const)
    : Object.entries(after as Readonly<Record<string, SiblingState>>)
}

function isAfter(after: unknown): after is readonly string[] | Readonly<Record<string, SiblingState>> {
  if (Array.isArray(after))
    return after.every((id) => typeof id === 'string') && new Set(after).size === after.length
  return isRecord(after) && Object.values(after).every((until) => siblingStates.some((it) => it === until))
}

const settingRules: Rules<SupervisorSettings & { readonly results?: boolean }> = {
  strategy: isOneOf(supervisionStrategies),
  maxRestarts: wholeNumber(0, 1_000),
  periodMs: wholeNumber(1, 1e12),
  endsWith: isOneOf(supervisorEnds),
  shutdownMs: shutdownRule,
  results: flagRule,
}
const ownOptions = ['type', 'input', 'children', ...Object.keys(settingRules)]
const { idempotencyKey: _, client: __, taskId: ___, agreement: ____, ...nodeRules } = submitRules
const childRules: Rules<DefinedChild<TaskDefinition, never>> = {
  task: [madeBy, (task) => taskTermsOf(task) !== undefined],
  input: ['a function of the input of the supervisor', (make) => typeof make === 'function'],
  restart: isOneOf(childRestarts),
  shutdownMs: shutdownRule,
  after: ["a list of ids of children, each once, or an object such as { store: 'ready' }", isAfter],
  options: [
    'an object with options of submit',
    (given) => isRecord(given) && problemsIn(given, nodeRules).length === 0,
  ],
}
