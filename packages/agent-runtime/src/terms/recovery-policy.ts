import {
  ConfigError,
  type ConfigProblem,
  defaultRecoveryTable,
  failureCategories,
  isName,
  isOneOf,
  isRecord,
  nameRule,
  problemsIn,
  type RecoveryPolicy,
  recoveryStrategies,
  type RecoveryTable,
  type Rule,
  type Rules,
  strongestRecovery,
} from '@ku0/agent-runtime-core'
import type { Domain, Fallback, RecoverySetting } from '../api/recovery.ts'
import { submitRules } from './submit-rules.ts'

/**
 * Several tables as one, such as those of the domains that an agent works in: for each category the strongest of what they have for it,
 * the fallback models of all in the order given, and the first other agent. Source: `docs/semantics.md 14.3`.
 */
export function combineRecovery(...settings: readonly RecoverySetting[]): RecoverySetting {
  const problems = settings.flatMap((setting) => [
    ...(isRecord(setting) ? [] : [{ path: 'combineRecovery', allowed: recoveryRule[0], given: setting }]),
    ...recoveryProblems(setting, 'combineRecovery: '),
  ])
  if (problems.length > 0) throw new ConfigError(problems)
  const policies = settings.map(recoveryOf)
  const table = Object.fromEntries(
    failureCategories.map((category) => [
      category,
      strongestRecovery(policies.map((it) => it.table[category])),
    ]),
  ) as unknown as RecoveryTable
  const fallbackModels = [...new Set(policies.flatMap((it) => it.fallbackModels))]
  const fallback = policies.find((it) => it.fallback !== undefined)?.fallback
  return {
    ...(table as RecoverySetting),
    ...(fallbackModels.length === 0 ? {} : { fallbackModels }),
    ...(fallback === undefined ? {} : { fallback }),
  }
}

/**
 * Defines a domain: a table of recovery under a name, which task types take as their `domain`. Throws {@link ConfigError} naming every field that
 * is wrong.
 *
 *     const legal = defineDomain({ name: 'legal', recovery: { crash: 'human_escalation' } })
 */
export function defineDomain<const Name extends string>(domain: Domain<Name>): Domain<Name> {
  const path = isRecord(domain) && isName(domain.name) ? `domain '${domain.name}': ` : 'domain: '
  const problems = isRecord(domain)
    ? [
        ...problemsIn(domain, domainRules, { path, required: ['name', 'recovery'] }),
        ...recoveryProblems(domain.recovery, `${path}recovery.`),
      ]
    : [{ path: 'domain', allowed: 'an object with name and recovery', given: domain }]
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze({ name: domain.name, recovery: Object.freeze({ ...domain.recovery }) })
}

/** Whether {@link defineDomain} returned a value. */
export function isDomain(value: unknown): value is Domain {
  return isRecord(value) && isName(value['name']) && isRecord(value['recovery'])
}

/** The rule for the `domain` of a task type. */
export const domainRule: Rule = [
  'what defineDomain returns, or a list of that',
  (value) => isDomain(value) || (Array.isArray(value) && value.length > 0 && value.every(isDomain)),
]

/** The tables of a task type: that of each of its domains, where its own entries replace those of the domain. */
export function tablesOf(given: {
  readonly recovery?: unknown
  readonly domain?: unknown
}): readonly unknown[] {
  const { recovery, domain } = given
  if (domain === undefined || !domainRule[1](domain) || !(recovery === undefined || isRecord(recovery)))
    return recovery === undefined ? [] : [recovery]
  const own = Object.fromEntries(Object.entries(recovery ?? {}).filter(([, choice]) => choice !== undefined))
  return [domain as Domain | readonly Domain[]].flat().map((it) => ({ ...it.recovery, ...own }))
}

/**
 * The policy of a task type without problems; undefined without a table. A task that its domain hands over to is handed over to nobody by it.
 * Source: `docs/semantics.md 14.3`.
 */
export function policyFor(given: {
  readonly type: string
  readonly recovery?: RecoverySetting | undefined
  readonly domain?: Domain | readonly Domain[] | undefined
}): RecoveryPolicy | undefined {
  const tables = tablesOf(given) as readonly RecoverySetting[]
  if (tables.length === 0) return undefined
  return recoveryOf(combineRecovery(...tables.map((table) => withoutItself(given.type, table))))
}

/** The table as another task has it that hands over to nobody: each answer that only another agent gives is the usual one. */
function withoutItself(type: string, { fallback, ...table }: RecoverySetting): RecoverySetting {
  if (fallback === undefined || fallbackOf(fallback).task !== type)
    return fallback === undefined ? table : { ...table, fallback }
  if (table.fallbackModels !== undefined) return table
  const kept = Object.entries(table).filter(([, choice]) => choice !== 'fallback_agent')
  return Object.fromEntries(kept)
}

/** The rule for `recovery`; {@link recoveryProblems} checks its fields. */
export const recoveryRule: Rule = [
  'an object with crash, timeout, resource_exhaustion, invalid_output, human_rejection, fallbackModels, fallback',
  isRecord,
]

/** Every problem of the fields of a recovery. Their names in messages begin with `path`. */
export function recoveryProblems(recovery: unknown, path: string): ConfigProblem[] {
  if (!isRecord(recovery)) return []
  const { fallbackModels, fallback } = recovery
  const own = problemsIn(recovery, recoveryRules, { path })
  if (isRecord(fallback) && !isFallbackTask(fallback))
    own.push(...problemsIn(fallback, fallbackRules, { path: `${path}fallback.`, required: ['task'] }))
  if (own.length > 0 || fallbackModels !== undefined || fallback !== undefined) return own
  return failureCategories
    .filter((category) => recovery[category] === 'fallback_agent')
    .map((category) => ({
      path: `${path}${category}`,
      allowed:
        'fallback_agent only together with fallbackModels or fallback, which say what it falls back to',
      given: recovery[category],
    }))
}

/** A recovery without problems, with its defaults filled in. */
function recoveryOf({ fallbackModels = [], fallback, ...given }: RecoverySetting): RecoveryPolicy {
  const usual: RecoveryTable =
    fallbackModels.length === 0 && fallback === undefined
      ? { ...defaultRecoveryTable, resource_exhaustion: 'fail' }
      : defaultRecoveryTable
  const table = Object.fromEntries(
    failureCategories.map((category) => [category, given[category] ?? usual[category]]),
  )
  return Object.freeze({
    table: Object.freeze(table) as RecoveryTable,
    fallbackModels: Object.freeze([...fallbackModels]),
    ...(fallback === undefined ? {} : { fallback: fallbackOf(fallback) }),
  })
}

function fallbackOf({ task, model, cost }: Fallback): NonNullable<RecoveryPolicy['fallback']> {
  return Object.freeze({
    task: typeof task === 'string' ? task : task.type,
    ...(model === undefined ? {} : { model }),
    ...(cost === undefined ? {} : { cost }),
  })
}

/** The task type that a setting hands over to. */
export function fallbackTaskIn(recovery: unknown): string | undefined {
  const fallback = isRecord(recovery) ? recovery['fallback'] : undefined
  return isRecord(fallback) && isFallbackTask(fallback['task'])
    ? fallbackOf(fallback as unknown as Fallback).task
    : undefined
}

function isFallbackTask(task: unknown): boolean {
  return isName(task) || (isRecord(task) && isName(task['type']))
}

/** Whether {@link recoveryOf} returned a value. */
export function isRecoveryPolicy(value: unknown): value is RecoveryPolicy {
  if (!isRecord(value)) return false
  const { table, fallbackModels, fallback } = value
  return (
    isRecord(table) &&
    failureCategories.every((category) => anyChoice[1](table[category])) &&
    models[1](fallbackModels ?? null) &&
    (fallback === undefined || (isRecord(fallback) && isName(fallback['task'])))
  )
}

const anyChoice: Rule = isOneOf([...recoveryStrategies, 'fail'])
const models: Rule = [
  'a list of different names of models, each of 1 to 255 characters',
  (value) => Array.isArray(value) && value.every(isName) && new Set(value).size === value.length,
]

const domainRules: Rules<Domain> = {
  name: [`a name of ${nameRule[0]}`, nameRule[1]],
  recovery: recoveryRule,
}

const recoveryRules: Rules<RecoverySetting> = {
  crash: anyChoice,
  timeout: anyChoice,
  resource_exhaustion: anyChoice,
  invalid_output: anyChoice,
  human_rejection: isOneOf(['retry_with_feedback', 'human_escalation', 'fail']),
  fallbackModels: models,
  fallback: [
    '{ task, model?, cost? }: for a task alone, write { task: … }',
    (value) => isRecord(value) && !isFallbackTask(value),
  ],
}

const fallbackRules: Rules<Fallback> = {
  task: ['what defineTask or defineContract returns, or the name of a task type', isFallbackTask],
  model: [`a name of ${nameRule[0]}`, isName],
  cost: submitRules.cost,
}
