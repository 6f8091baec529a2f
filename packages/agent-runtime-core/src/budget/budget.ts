import type { ConfigProblem } from '../error/errors.ts'
import { isReadable } from '../check/readable.ts'
import { assertFields, instead } from '../check/rules.ts'
import { MAX_COUNT } from '../config/setting.ts'
import { MICRO, type UsageSum } from './usage.ts'

/** The amounts that a budget can limit. Source: `docs/semantics.md 11.5`. */
export const budgetFields = ['tokens', 'money', 'cost', 'wallMs', 'steps'] as const
export type BudgetField = (typeof budgetFields)[number]

/** Limits of a task and all below it together; what is left out has none. */
export interface BudgetLimits {
  /** Whole tokens, 1 to 1e12. */
  readonly tokens?: number | undefined
  /** In the currency that all of a store's budgets are in, above 0 to 1e9, to the millionth. */
  readonly money?: number | undefined
  /** The cost that fair shares count, above 0 to 1e9, to the millionth. */
  readonly cost?: number | undefined
  /** Ms from the first start of the task, its waits included, 1 to a year. */
  readonly wallMs?: number | undefined
  /** Recorded steps, 1 to 1e9. */
  readonly steps?: number | undefined
}

/** A budget as it is given: hard limits, and where to ask before them. */
export interface BudgetOptions extends BudgetLimits {
  /**
   * Where the task stops and asks: a part of every limit, above 0 to 1, or an amount for some of them. Nobody is asked without one.
   * Source: `docs/semantics.md 11.5`.
   */
  readonly soft?: number | BudgetLimits | undefined
}

/** Amounts in whole numbers: tokens, ms and steps as they are, money and cost in millionths. */
export type BudgetSum = Partial<Readonly<Record<BudgetField, number>>>

/** A budget as a submission carries it. `cut`: the default of a task type, which is cut to what is left above it. */
export interface BudgetTerms {
  readonly limits: BudgetSum
  readonly soft: BudgetSum
  readonly cut?: boolean
}

/** The usage of a task and all tasks below it so far. Wall time is not added up. */
export interface BudgetUse extends UsageSum {
  readonly steps: number
}

export const noUse: BudgetUse = { tokens: 0, money: 0, cost: 0, steps: 0 }

export function addUse(a: BudgetUse, b: BudgetUse): BudgetUse {
  return {
    tokens: a.tokens + b.tokens,
    money: a.money + b.money,
    cost: a.cost + b.cost,
    steps: a.steps + b.steps,
  }
}

/** The first limit that is crossed by what is used; wall time is looked at when it is due. */
export function fieldOver(limits: BudgetSum, used: BudgetUse): BudgetField | undefined {
  return budgetFields.find((field) => usedOf(used, field) > (limits[field] ?? Number.POSITIVE_INFINITY))
}

/** How much is used of what a budget counts up: time passes by itself. */
export function usedOf(used: BudgetUse, field: BudgetField): number {
  return field === 'wallMs' ? 0 : used[field]
}

const YEAR_MS = 31_536_000_000
const scale: Readonly<Record<BudgetField, number>> = {
  tokens: 1,
  money: MICRO,
  cost: MICRO,
  wallMs: 1,
  steps: 1,
}
const bounds: Readonly<Record<BudgetField, readonly [most: number, unit: string]>> = {
  tokens: [1e12, 'a whole number of tokens'],
  money: [MAX_COUNT, 'a number above 0'],
  cost: [MAX_COUNT, 'a number above 0'],
  wallMs: [YEAR_MS, 'a whole number of ms'],
  steps: [MAX_COUNT, 'a whole number of steps'],
}

/** Everything that is wrong with a budget; `path` is how its place is called. */
export function budgetProblems(path: string, given: unknown): ConfigProblem[] {
  if (!isReadable(given))
    return [{ path, allowed: `an object with ${[...budgetFields, 'soft'].join(', ')}`, given }]
  const { soft, ...limits } = given
  const problems = amountProblems(path, limits, [...budgetFields, 'soft'])
  const named = budgetFields.filter((field) => limits[field] !== undefined)
  if (named.length === 0 && problems.length === 0)
    return [{ path, allowed: `at least one limit of ${budgetFields.join(', ')}`, given }]
  return [...problems, ...softProblems(`${path}.soft`, soft, limits)]
}

/** A budget in whole numbers. Throws `invalid_argument` with everything that is wrong. */
export function budgetTerms(path: string, given: unknown): BudgetTerms {
  assertFields(budgetProblems(path, given))
  const { soft = {}, ...limits } = given as BudgetOptions
  const whole = wholeSum(limits)
  return { limits: whole, soft: typeof soft === 'number' ? partOf(whole, soft) : wholeSum(soft) }
}

/**
 * The amounts by which a budget is raised, in whole numbers. Throws `invalid_argument` with every problem.
 */
export function budgetRaise(path: string, given: unknown): BudgetSum {
  if (!isReadable(given))
    assertFields([{ path, allowed: `an object with ${budgetFields.join(', ')}`, given }])
  assertFields(amountProblems(path, given as Readonly<Record<string, unknown>>, budgetFields))
  return wholeSum(given as BudgetLimits)
}

/** An amount for events and rows, in the unit that people use. */
export function budgetAmount(field: BudgetField, whole: number): number {
  return whole / scale[field]
}

/** Amounts as people read them. */
export function budgetAmounts(sum: BudgetSum): BudgetLimits {
  return mapSum(sum, budgetAmount)
}

/** Some of the amounts, each made again. */
export function mapSum(sum: BudgetLimits, make: (field: BudgetField, amount: number) => number): BudgetSum {
  const made: Partial<Record<BudgetField, number>> = {}
  for (const field of budgetFields) {
    const amount = sum[field]
    if (amount !== undefined) made[field] = make(field, amount)
  }
  return made
}

function wholeSum(given: BudgetLimits): BudgetSum {
  return mapSum(given, (field, amount) => Math.round(amount * scale[field]))
}

/** A line lies above 0, so that nothing asks before it begins. */
function partOf(limits: BudgetSum, part: number): BudgetSum {
  return mapSum(limits, (_, amount) => Math.max(1, Math.round(amount * part)))
}

function amountProblems(
  path: string,
  given: Readonly<Record<string, unknown>>,
  known: readonly string[],
): ConfigProblem[] {
  return Object.entries(given).flatMap(([name, value]) => {
    if (!(budgetFields as readonly string[]).includes(name))
      return [{ path: `${path}.${name}`, allowed: `no such field${instead(name, known)}`, given: value }]
    const field = name as BudgetField
    if (value === undefined || isAmount(field, value)) return []
    const [most, unit] = bounds[field]
    const least = scale[field] === 1 ? ' from 1' : ''
    return [{ path: `${path}.${name}`, allowed: `${unit}${least} to ${most}`, given: value }]
  })
}

function softProblems(
  path: string,
  soft: unknown,
  limits: Readonly<Record<string, unknown>>,
): ConfigProblem[] {
  if (soft === undefined) return []
  if (typeof soft === 'number')
    return soft > 0 && soft <= 1
      ? []
      : [{ path, allowed: 'a number above 0 and up to 1, or amounts', given: soft }]
  if (!isReadable(soft)) return [{ path, allowed: 'a number above 0 and up to 1, or amounts', given: soft }]
  const problems = amountProblems(path, soft, budgetFields)
  if (problems.length > 0) return problems
  return budgetFields.flatMap((field) => {
    const [line, limit] = [soft[field], limits[field]]
    if (typeof line !== 'number') return []
    if (limit === undefined)
      return [{ path: `${path}.${field}`, allowed: `no value without a hard limit of ${field}`, given: line }]
    if (typeof limit !== 'number' || line <= limit) return []
    return [{ path: `${path}.${field}`, allowed: `at most the hard limit ${limit}`, given: line }]
  })
}

/** An amount that is not 0 once it is in whole numbers. */
function isAmount(field: BudgetField, value: unknown): boolean {
  if (typeof value !== 'number' || !(value > 0) || value > bounds[field][0]) return false
  return scale[field] === 1 ? Number.isInteger(value) : Math.round(value * scale[field]) > 0
}
