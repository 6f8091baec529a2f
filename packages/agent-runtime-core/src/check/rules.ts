import { type ConfigProblem, RuntimeError } from '../error/errors.ts'
import { hasMethods, isReadable } from './readable.ts'
import { firstLines, show } from './show.ts'
import { meantText } from './suggestion.ts'

/** The rule for a value: what is allowed, for people, and the check. */
export type Rule = readonly [allowed: string, holds: (value: unknown) => boolean]
/** A rule for each field, so that a new field cannot go unchecked. */
export type Rules<T> = { readonly [K in keyof T]-?: Rule }

/**
 * Names that other libraries have for what an option says, each with what to do here instead: the end of a sentence, or one that is made of
 * the value that was given.
 */
export type FamiliarNames = Readonly<Record<string, string | ((given: unknown) => string)>>

/** Everything that is wrong with the fields of `given`: names that do not exist, what is missing, what breaks its rule. */
export function problemsIn(
  given: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, Rule>>,
  {
    path = '',
    required = [],
    familiar = {},
    names = Object.keys(rules),
  }: {
    readonly path?: string
    readonly required?: readonly string[]
    readonly familiar?: FamiliarNames
    /** The options that there are, for messages; those with a rule by default. */
    readonly names?: readonly string[]
  } = {},
): ConfigProblem[] {
  if (allHold(given, rules, required)) return []
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(rules, name))
  return [
    ...unknown.map((name) => ({
      path: path + name,
      allowed: `no such option${instead(name, names, familiar, given[name])}`,
      given: given[name],
    })),
    ...Object.entries(rules)
      .filter(([name, [, holds]]) =>
        given[name] === undefined ? required.includes(name) : !holdsFor(holds, given[name]),
      )
      .map(([name, [allowed]]) => ({ path: path + name, allowed, given: given[name] })),
  ]
}

/** Only whether all rules hold: each submission asks this, and the answer is nearly always yes. */
function allHold(
  given: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, Rule>>,
  required: readonly string[],
): boolean {
  for (const name of required) if (given[name] === undefined) return false
  for (const name of Object.keys(given)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === undefined) return false
    const value = given[name]
    if (value !== undefined && !holdsFor(rule[1], value)) return false
  }
  return true
}

/** Whether it has these fields, each as its rule says, and no others. */
export function fits<T>(value: unknown, rules: Rules<T>): value is T {
  return isRecord(value) && allHold(value, rules, Object.keys(rules))
}

/**
 * Throws `invalid_argument` with every problem of a call's options. Missing options are fine unless some are
 * required.
 */
export function assertOptions(
  call: string,
  given: unknown,
  rules: Readonly<Record<string, Rule>>,
  more: { readonly required?: readonly string[]; readonly familiar?: FamiliarNames } = {},
): void {
  if (given === undefined && (more.required ?? []).length === 0) return
  assertIsOptions(call, given, rules)
  assertFields(problemsIn(given, rules, { path: `${call} option `, ...more }))
}

/** Throws `invalid_argument` if the options of a call are not an object. */
export function assertIsOptions(
  call: string,
  given: unknown,
  rules: Readonly<Record<string, Rule>>,
): asserts given is Readonly<Record<string, unknown>> {
  if (isRecord(given)) return
  const known = Object.keys(rules).join(', ')
  throw invalid(`${call} options: an object with ${known}; given ${show(given)}`)
}

/** Throws `invalid_argument` when there are problems, with all of them. */
export function assertFields(problems: readonly ConfigProblem[]): void {
  if (problems.length > 0) throw invalid(firstLines(problems.map(lineOf)).join('\n'))
}

/** One of these words. */
export function isOneOf(words: readonly string[]): Rule {
  return [words.join(' | '), (value) => typeof value === 'string' && words.includes(value)]
}

/** The error for a call that was given something outside what it documents. */
export function invalid(message: string): RuntimeError {
  return new RuntimeError('invalid_argument', message)
}

/**
 * The option to write instead of an option name of another library, else the name that was probably meant, or all
 * names.
 */
export function instead(
  name: string,
  known: readonly string[],
  familiar: FamiliarNames = {},
  given?: unknown,
): string {
  const advice = Object.hasOwn(familiar, name) ? familiar[name] : undefined
  if (advice !== undefined) return `, ${typeof advice === 'string' ? advice : advice(given)}`
  const meant = meantText(name, known)
  if (meant !== '') return meant
  return known.length === 0 ? '' : `; there are ${known.join(', ')}`
}

function lineOf({ path, allowed, given }: ConfigProblem): string {
  // The name of an option that there is not may be a text of any length.
  const place = path.length > 200 ? `${path.slice(0, 199)}…` : path
  return `${place}: ${allowed}; ${given === undefined ? 'not given' : `given ${show(given)}`}`
}

/** A value that cannot even be looked at, such as a proxy whose traps throw, breaks every rule. */
function holdsFor(holds: (value: unknown) => boolean, value: unknown): boolean {
  try {
    return holds(value)
  } catch {
    return false
  }
}

/**
 * An object whose own fields are all there is to it, and can be read: an instance of a class would hide what it means, and a getter
 * that throws would do so in the middle of a call.
 */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isReadable(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** SQLite keeps well-formed text only: two names with lone surrogates would become one. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 255 && value.isWellFormed()
}

/** A number that can be waited for or counted: finite, 0 or more. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** A share: 0 to 1. */
export function isWithinOne(value: unknown): value is number {
  return isAmount(value) && value <= 1
}

/** A list, each item of which is what `holds` says. */
export function listOf(allowed: string, holds: (item: unknown) => boolean): Rule {
  return [allowed, (value) => Array.isArray(value) && value.every((item) => holds(item))]
}

/** A whole number within bounds; `limit` names the upper one. */
export function wholeNumber(least: number, most: number, limit?: string): Rule {
  const bounds = `a whole number from ${least} to ${most}${limit === undefined ? '' : ` (${limit})`}`
  return [bounds, (value) => Number.isSafeInteger(value) && isWithin(value as number, least, most)]
}

function isWithin(value: number, least: number, most: number): boolean {
  return value >= least && value <= most
}

/** A name: {@link isName}. */
export const nameRule: Rule = ['1 to 255 characters, no lone surrogates', isName]
/** Names; the list may be empty. */
export const namesRule: Rule = listOf('a list of names', isName)
/** A boolean. */
export const flagRule: Rule = ['true or false', (value) => typeof value === 'boolean']
/** A function, of any parameters. */
export const functionRule: Rule = ['a function', (value) => typeof value === 'function']
/** A number of ms to wait; 0 means no wait. */
export const delayRule: Rule = ['a finite number of ms, 0 or more', isAmount]
/** Ms that something may take. */
export const limitRule: Rule = ['a number of ms above 0', (value) => isAmount(value) && value > 0]
/** A value with all of these methods, of whichever class it is. */
export function hasAll(what: string, ...methods: readonly string[]): Rule {
  return [what, (value) => hasMethods(value, ...methods)]
}

/** An AbortSignal, or what behaves as one. */
export const signalRule: Rule = [
  'an AbortSignal',
  (value) => hasMethods(value, 'addEventListener', 'removeEventListener', 'throwIfAborted'),
]
