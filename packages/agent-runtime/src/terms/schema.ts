import { invalid, show } from '@ku0/agent-runtime-core'
import type { Checked, Issue, Schema } from '../api/schema.ts'
import { isThenable } from './thenable.ts'

/**
 * Runs a schema. The result is a promise only if the schema's result is one. Throws, or rejects, if the
 * schema does, or if it returns something that Standard Schema does not allow.
 */
export function check<Output>(
  schema: Schema<unknown, Output>,
  value: unknown,
): Checked<Output> | Promise<Checked<Output>> {
  const answer: unknown = schema['~standard'].validate(value)
  return isThenable(answer) ? Promise.resolve(answer).then(checkedBy<Output>) : checkedBy(answer)
}

function checkedBy<Output>(answer: unknown): Checked<Output> {
  if (typeof answer === 'object' && answer !== null) {
    const { issues } = answer as { readonly issues?: unknown }
    if (issues === undefined && 'value' in answer) return answer as Checked<Output>
    if (Array.isArray(issues) && issues.every(isIssue)) return { issues }
  }
  throw invalid(
    `a schema's validate must return { value } or { issues: [{ message }] }; this one returned ${show(answer)}`,
  )
}

/** Whether a value is a schema, as far as that shows before it is used. */
export function isSchema(value: unknown): value is Schema {
  const standard: unknown = (value as Partial<Schema> | null | undefined)?.['~standard']
  return typeof (standard as Schema['~standard'] | undefined)?.validate === 'function'
}

function isIssue(issue: unknown): issue is Issue {
  return typeof (issue as Partial<Issue> | null | undefined)?.message === 'string'
}

/** The issues as one line for people: `input.repo: Invalid input: expected string, received number; …`. */
export function describeIssues(what: string, issues: readonly Issue[]): string {
  const lines = issues
    .slice(0, MAX_ISSUES)
    .map(({ message, path = [] }) => `${what}${path.map(segment).join('')}: ${message}`)
  if (issues.length > MAX_ISSUES) lines.push(`and ${issues.length - MAX_ISSUES} more`)
  return lines.join('; ')
}

/** A message lists the first few issues; whoever sees ten can correct ten. */
const MAX_ISSUES = 10

function segment(part: PropertyKey | { readonly key: PropertyKey }): string {
  const key = typeof part === 'object' ? part.key : part
  if (typeof key === 'number') return `[${key}]`
  const name = String(key)
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}
