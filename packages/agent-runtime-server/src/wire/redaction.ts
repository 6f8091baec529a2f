import { ConfigError, isName } from '@ku0/agent-runtime-core'

/** The text in place of a redacted value. */
export const REDACTED = '[redacted]'

/** The values of users, each under the name that it has in every answer. */
export const valueNames = ['input', 'output', 'result', 'value', 'artifact', 'data', 'error'] as const
export type ValueName = (typeof valueNames)[number]

/** Replaces what is not to be shown in a value. The value itself stays as it is. */
export type Redaction = (name: ValueName, value: unknown) => unknown

/**
 * Reads the paths of what is not to be shown: `input.password`, `output.cards.*.number`. A path begins with the name of a value, and
 * `*` is every key of an object and every item of a list. Throws a `ConfigError` that names each path that is none.
 */
export function redactionOf(paths: readonly string[] = []): Redaction {
  const problems = paths.flatMap((path, index) => (isPath(path) ? [] : [problemOf(index, path)]))
  if (problems.length > 0) throw new ConfigError(problems)
  const byName = Object.groupBy(
    paths.flatMap(withStack).map((path) => path.split('.')),
    ([name]) => name as ValueName,
  )
  const rules = new Map(valueNames.map((name) => [name, byName[name]?.map(([, ...rest]) => rest) ?? []]))
  return (name, value) => (rules.get(name) ?? []).reduce((rest, path) => without(rest, path), value)
}

/** A stack begins with the message. */
function withStack(path: string): string[] {
  return /^error\.(.+\.)?message$/.test(path) ? [path, path.replace(/message$/, 'stack')] : [path]
}

/** Whether the message of an error, or of a cause of one, is not to be shown. */
export function hidesMessages(redact: Redaction): boolean {
  let error: object = { message: '' }
  for (let depth = 0; depth < 5; depth += 1) error = { message: '', cause: error }
  return JSON.stringify(redact('error', error)) !== JSON.stringify(error)
}

function isPath(path: unknown): boolean {
  if (!isName(path)) return false
  const [name, ...rest] = path.split('.')
  return valueNames.some((known) => known === name) && rest.every((part) => part !== '')
}

function problemOf(index: number, given: unknown) {
  return {
    path: `redact[${index}]`,
    allowed: `a path that begins with ${valueNames.join(', ')}, such as input.password or output.*.token`,
    given,
  }
}

function without(value: unknown, path: readonly string[]): unknown {
  const [first, ...rest] = path
  if (first === undefined) return REDACTED
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) =>
      first === '*' || first === String(index) ? without(item, rest) : item,
    )
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  // Dates, Maps and their like have no entries to replace.
  if (entries.length === 0) return value
  return Object.fromEntries(
    entries.map(([key, item]) => [key, first === '*' || first === key ? without(item, rest) : item]),
  )
}
