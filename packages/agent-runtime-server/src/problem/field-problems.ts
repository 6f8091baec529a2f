import type { z } from '../wire/zod.ts'
import { instead } from '@ku0/agent-runtime-core'
import type { FieldProblem } from './problem.ts'

/** The faults of a part of a request, one by one; a name that does not exist comes with the nearest one that does. */
export function fieldProblems(part: string, schema: z.ZodType, error: z.ZodError): FieldProblem[] {
  return error.issues.flatMap((issue) => problemsOf(part, schema, issue))
}

function problemsOf(part: string, schema: z.ZodType, issue: z.core.$ZodIssue): FieldProblem[] {
  const field = [part, ...issue.path.map(String)].join('.')
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined'))
    return [{ field, allowed: `${named(issue.expected)}; not given` }]
  if (issue.code !== 'unrecognized_keys') return [{ field, allowed: allowedBy(issue) }]
  const known = namesAt(schema, issue.path)
  return issue.keys.map((name) => ({
    field: `${field}.${name.slice(0, 100)}`,
    allowed: `no such field${placeBelow(schema, issue.path, known, name) ?? instead(name, known)}`,
  }))
}

/** The rule that a value broke. A schema with words of its own keeps them. */
function allowedBy(issue: z.core.$ZodIssue): string {
  const { code, message } = issue
  if (code === 'invalid_value' && message.startsWith('Invalid option: ')) return issue.values.join(' | ')
  if (code === 'invalid_type' && message.startsWith('Invalid input: ')) return named(issue.expected)
  if (code === 'too_small' && message.startsWith('Too small: expected number'))
    return `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`
  if (code === 'too_big' && message.startsWith('Too big: expected number'))
    return `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`
  return message
}

/** The field of that very name one level below, as `options.taskId` for `taskId`. */
function placeBelow(
  schema: unknown,
  path: readonly PropertyKey[],
  known: readonly string[],
  name: string,
): string | undefined {
  const above = known.find((field) => namesAt(schema, [...path, field]).includes(name))
  return above === undefined ? undefined : `, did you mean ${above}.${name}?`
}

/** A kind of value in words. */
function named(expected: string): string {
  return `${/^[aio]/.test(expected) ? 'an' : 'a'} ${expected}`
}

/** The names of the fields of the object at a path. */
function namesAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  const inner = unwrapped(schema)
  const [first, ...rest] = path
  const shape = isObject(inner) ? inner.shape : undefined
  if (first === undefined) return shape === undefined ? [] : Object.keys(shape)
  if (shape !== undefined) return namesAt(shape[String(first)], rest)
  const element = (inner as { readonly element?: unknown } | undefined)?.element
  return element === undefined ? [] : namesAt(element, rest)
}

function unwrapped(schema: unknown): unknown {
  const wrapper = schema as { unwrap?: () => unknown; shape?: unknown; element?: unknown } | undefined
  if (wrapper?.unwrap === undefined || wrapper.shape !== undefined || wrapper.element !== undefined)
    return schema
  return unwrapped(wrapper.unwrap())
}

function isObject(schema: unknown): schema is { readonly shape: Readonly<Record<string, unknown>> } {
  return typeof schema === 'object' && schema !== null && 'shape' in schema
}
