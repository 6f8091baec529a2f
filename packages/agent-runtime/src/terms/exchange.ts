import {
  type ConfigProblem,
  describeError,
  instead,
  invalid,
  isName,
  isRecord,
  nameRule,
  RESERVED,
  RuntimeError,
} from '@ku0/agent-runtime-core'
import type { Exchange, Schemas } from '../api/exchange.ts'
import type { Schema } from '../api/schema.ts'
import { check, describeIssues, isSchema } from './schema.ts'

/** A task type, as far as signals, approvals and emits are checked with it. */
export interface ExchangeTerms {
  readonly type: string
  readonly signals: Exchange['signals'] | undefined
  readonly approvals: Exchange['approvals'] | undefined
  readonly emits: Exchange['emits'] | undefined
}

/**
 * Throws `invalid_argument` for a signal that the type does not declare, and for a value that does not fit its
 * schema. Source: `docs/semantics.md 12.4`.
 */
export function assertSignal(terms: ExchangeTerms, name: string, value: unknown): void {
  const schema = declared(terms, 'signal', name)
  if (schema === undefined) return
  const what = `signal '${name}' of task '${terms.type}'`
  fit(schema, value, what, (issues) => unfit(`the value of ${what}`, issues))
}

/** Throws `invalid_argument` for a value that does not fit the schema of its approval. */
export function assertApproval(terms: ExchangeTerms, key: string, value: unknown): void {
  const schema = key.startsWith(RESERVED) ? undefined : schemaFor(terms.approvals ?? {}, key)
  if (schema === undefined) return
  const what = `approval '${key}' of task '${terms.type}'`
  fit(schema, value, what, (issues) => unfit(`the value of ${what}`, issues))
}

/** Throws `invalid_argument` for a chunk that does not fit the schema of `emits`. */
export function assertEmitted(terms: ExchangeTerms, chunk: unknown): void {
  if (terms.emits === undefined) return
  const what = `what task '${terms.type}' emits`
  fit(terms.emits, chunk, what, (issues) => unfit(what, issues))
}

/** Throws `invalid_argument` for a name that a type with declarations of this kind does not declare. */
export function assertDeclared(terms: ExchangeTerms, kind: 'signal' | 'approval', name: string): void {
  declared(terms, kind, name)
}

/** A stored signal's value as its schema returns it. Throws `schema_mismatch`. */
export function readSignal(terms: ExchangeTerms, name: string, value: unknown): unknown {
  const schema = schemaFor(terms.signals ?? {}, name)
  if (schema === undefined) return value
  const what = `signal '${name}' of task '${terms.type}'`
  return fit(schema, value, what, (issues) =>
    mismatch(
      `the stored value of ${what} does not fit its schema: ${issues}. Retry the task, and send the signal again with a value that fits; or let the schema accept this one, and fork the task`,
    ),
  )
}

/** A stored approval's value as its schema returns it. Throws `schema_mismatch`. */
export function readApproval(terms: ExchangeTerms, key: string, value: unknown): unknown {
  const schema = schemaFor(terms.approvals ?? {}, key)
  if (schema === undefined) return value
  const what = `approval '${key}' of task '${terms.type}'`
  return fit(schema, value, what, (issues) =>
    mismatch(
      `the stored value of ${what} does not fit its schema: ${issues}. Retry the task, and approve it again with a value that fits; or let the schema accept this one, and fork the task`,
    ),
  )
}

/** A stored chunk as the schema of `emits` returns it. Throws `schema_mismatch`, which names its `seq`. */
export function readEmitted(terms: ExchangeTerms, chunk: unknown, seq: number): unknown {
  if (terms.emits === undefined) return chunk
  const what = `what task '${terms.type}' emitted (seq ${seq})`
  return fit(terms.emits, chunk, what, (issues) =>
    mismatch(
      `${what} does not fit the schema of its emits: ${issues}. Let the schema accept it, go on with after: ${seq}, or read without the schema: check: false`,
    ),
  )
}

/** What is wrong with a task type's signals and approvals. */
export function exchangeProblems(
  given: Readonly<Record<string, unknown>>,
  path: string,
): readonly ConfigProblem[] {
  return (['signals', 'approvals'] as const).flatMap((kind) => {
    const schemas = given[kind]
    if (schemas === undefined) return []
    if (!isRecord(schemas) || isSchema(schemas)) {
      const example = kind === 'signals' ? 'reply' : 'publish'
      const allowed = `an object of schemas by name, such as { ${example}: z.object({ … }) }`
      return [{ path: `${path}${kind}`, allowed, given: schemas }]
    }
    return Object.entries(schemas).flatMap(([name, schema]) => {
      const at = `${path}${kind}.${name}`
      if (!isName(name) || name.startsWith(RESERVED) || name.slice(0, -1).includes('*')) {
        const allowed = `a name of ${nameRule[0]}, with * at most at its end, that does not begin with '${RESERVED}'`
        return [{ path: at, allowed, given: name }]
      }
      return isSchema(schema) ? [] : [{ path: at, allowed: 'a schema, such as z.string()', given: schema }]
    })
  })
}

/** The schema that is declared for a name. Undefined where the type declares none at all. */
function declared(terms: ExchangeTerms, kind: 'signal' | 'approval', name: string): Schema | undefined {
  const schemas = kind === 'signal' ? terms.signals : terms.approvals
  if (schemas === undefined) return undefined
  const schema = schemaFor(schemas, name)
  if (schema !== undefined) return schema
  throw invalid(
    `${kind} '${name}': task '${terms.type}' declares no ${kind} of this name${instead(name, Object.keys(schemas))}`,
  )
}

/** By its own name before the longest that ends in `*`. */
function schemaFor(schemas: Schemas, name: string): Schema | undefined {
  if (Object.hasOwn(schemas, name)) return schemas[name]
  const [best] = Object.keys(schemas)
    .filter((key) => key.endsWith('*') && name.startsWith(key.slice(0, -1)))
    .toSorted((a, b) => b.length - a.length)
  return best === undefined ? undefined : schemas[best]
}

/** What the schema returns for a value. It is checked again in each pass, in the turn of the call. */
function fit(
  schema: Schema,
  value: unknown,
  what: string,
  refusal: (issues: string) => RuntimeError,
): unknown {
  let checked: ReturnType<typeof check>
  try {
    checked = check(schema, value)
  } catch (error) {
    throw invalid(`the schema of ${what} failed: ${describeError(error).message}`)
  }
  if (checked instanceof Promise) {
    checked.catch(() => undefined)
    throw invalid(
      `the schema of ${what} returned a promise, because it is asynchronous or throws; signals, approvals and emits are checked at once: leave out its asynchronous checks, and make them in a step`,
    )
  }
  if (checked.issues !== undefined) throw refusal(describeIssues('value', checked.issues))
  return checked.value
}

function unfit(what: string, issues: string): RuntimeError {
  return invalid(`${what} does not fit its schema: ${issues}; nothing was stored`)
}

function mismatch(message: string): RuntimeError {
  return new RuntimeError('schema_mismatch', message)
}
