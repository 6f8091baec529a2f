import { instead, invalid, type OutputChunk, parseJson, RuntimeError } from '@ku0/agent-runtime-core'
import type { PipelineEvent } from '../api/pipelines.ts'
import type { Schemas } from '../api/exchange.ts'
import type { Schema } from '../api/schema.ts'
import { describeIssues, check } from './schema.ts'

/** The schemas of a pipeline's events, by type. */
export type EventSchemas = ReadonlyMap<string, Schema>

/** The pipelines that this process has defined, by their task types: events are checked wherever the definition is loaded. */
const defined = new Map<string, EventSchemas>()

export function keepEventSchemas(pipeline: string, schemas: EventSchemas): void {
  defined.set(pipeline, schemas)
}

/** Throws `invalid_argument` for data that does not fit the schema of its type: that of the definition, and the one that the publisher gave. */
export function assertPublished(pipeline: string, type: string, data: unknown, given?: Schema): void {
  const schema = defined.get(pipeline)?.get(type)
  const what = `an event '${type}' of pipeline '${pipeline}'`
  for (const each of new Set([schema, given])) {
    const issues = each === undefined ? undefined : issuesOf(each, data, what)
    if (issues !== undefined) throw invalid(`${what} does not fit its schema: ${issues}`)
  }
}

/** The data of a stored event as the schema of its type returns it. Throws `schema_mismatch`. */
function readPublished(
  pipeline: string,
  type: string,
  data: unknown,
  { sequence, given }: { readonly sequence: number; readonly given: Schemas | undefined },
): unknown {
  const own = given !== undefined && Object.hasOwn(given, type) ? given[type] : undefined
  const schema = own ?? defined.get(pipeline)?.get(type)
  if (schema === undefined) return data
  const what = `event ${sequence} of pipeline '${pipeline}', a '${type}',`
  const checked = checkNow(schema, data, what)
  if (checked.issues === undefined) return checked.value
  throw new RuntimeError(
    'schema_mismatch',
    `${what} does not fit its schema: ${describeIssues('data', checked.issues)}. Let the schema accept what was published, then submit the pipeline again`,
  )
}

/**
 * A stored event. `pipeline`: the task type of the pipeline; without it the data is as it is stored. `given`: the schemas of who reads it, which come before
 * those of the definition.
 */
export function readEvent(
  values: { readonly decode: (text: string) => unknown },
  pipeline: string | undefined,
  { seq, at, data }: Pick<OutputChunk, 'seq' | 'at' | 'data'>,
  given?: Schemas,
): PipelineEvent {
  const { text, names } = partsOf(data)
  const { type } = names
  const stored = values.decode(text)
  return {
    sequence: seq,
    ...names,
    data: pipeline === undefined ? stored : readPublished(pipeline, type, stored, { sequence: seq, given }),
    at,
  }
}

type EventNames = Pick<PipelineEvent, 'stage' | 'type' | 'partition' | 'keyHash'>

/** The store writes the data first, then the names, which are mostly those of the event before. */
function partsOf(line: string): { readonly text: string; readonly names: EventNames } {
  const at = line.lastIndexOf(',"stage":"')
  const end = line.slice(at + 1)
  if (end !== last.end) last = { end, names: parseJson(`{${end}`) as EventNames }
  return { text: line.slice('{"data":'.length, at), names: last.names }
}

let last: { readonly end: string; readonly names: EventNames } = {
  end: '',
  names: { stage: '', type: '' },
}

/** Throws `unauthorized_publish` for a type that a stage may not publish, and `invalid_argument` for one that it does not receive. */
export function unauthorized(
  as: 'publish' | 'receive',
  {
    stage,
    type,
    allowed,
  }: { readonly stage: string; readonly type: string; readonly allowed: readonly string[] },
): RuntimeError {
  const other = allowed.length === 0 ? '; it has no types' : instead(type, allowed)
  const details = { stage, type, allowed: [...allowed] }
  return as === 'publish'
    ? new RuntimeError('unauthorized_publish', `stage '${stage}' may not publish '${type}'${other}`, {
        details,
      })
    : new RuntimeError('invalid_argument', `stage '${stage}' does not subscribe to '${type}'${other}`, {
        details,
      })
}

function issuesOf(schema: Schema, data: unknown, what: string): string | undefined {
  const { issues } = checkNow(schema, data, what)
  return issues === undefined ? undefined : describeIssues('data', issues)
}

function checkNow(schema: Schema, data: unknown, what: string) {
  const checked = check(schema, data)
  if (checked instanceof Promise) throw invalid(`${what}: its schema may not be asynchronous`)
  return checked
}
