import {
  ConfigError,
  type ConfigProblem,
  functionRule,
  isList,
  isRecord,
  problemsIn,
  type Rules,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { OutputOf, Schema } from '../api/schema.ts'
import { isDefinition } from '../terms/task-definition.ts'
import type { TaskDefinition } from '../api/task-definition.ts'

/** Plain data that goes along with a value through a composition, for later edges to read. */
export type Metadata = Readonly<Record<string, unknown>>

/** The changes that an edge makes to the output of one agent before it goes into the next, in this order. */
export interface EdgeOptions<From, Checked, To> {
  /** The schema of values that may flow; a value that does not fit ends the task as `invalid_output`. The parsed value goes on. */
  readonly validate?: Schema<From, Checked> | undefined
  /** More metadata, added to what has come along. */
  readonly metadata?: ((value: Checked, metadata: Metadata) => Metadata) | undefined
  /** Makes the next agent's input. */
  readonly map?: ((value: Checked, metadata: Metadata) => To) | undefined
}

/** One agent, or several that data flow through, each a child of the task that runs them. */
export interface Composition<Input = unknown, Output = unknown> {
  readonly parts: readonly Part[]
  /** Only there for the compiler. */
  readonly [flow]?: { readonly input: Input; readonly output: Output }
}

/** The edge between two agents that data flow through. */
export interface Edge<From = unknown, To = unknown> {
  readonly edges: readonly EdgePart[]
  /** Only there for the compiler. */
  readonly [flow]?: { readonly input: From; readonly output: To }
}
declare const flow: unique symbol

type Part = StagePart | EdgePart
interface StagePart {
  readonly kind: 'stage'
  readonly task: TaskDefinition
}
export interface EdgePart {
  readonly kind: 'edge'
  readonly validate?: Schema
  readonly metadata?: (value: never, metadata: Metadata) => Metadata
  readonly map?: (value: never, metadata: Metadata) => unknown
}

/** A task type, or a composition. */
export type Agent<Input, Output> = TaskDefinition<string, Input, Output> | Composition<Input, Output>

/**
 * `a`, then the edge, then `b`. How compositions are put together makes no difference: only the order of agents and edges counts, and
 * {@link passThrough} and {@link identityEdge} are as good as nothing. Throws `ConfigError` for what is none of these. Source:
 * `docs/semantics.md 13.5`.
 */
export function compose<A, B, C, D>(a: Agent<A, B>, between: Edge<B, C>, b: Agent<C, D>): Composition<A, D> {
  const problems = [...agentProblems('a', a), ...edgeProblems(between), ...agentProblems('b', b)]
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze({ parts: [...partsOf(a), ...between.edges, ...partsOf(b)] })
}

/**
 * An edge that checks, maps and adds to the metadata. Its functions run once in the life of a task, in a step. Throws `ConfigError`.
 * Source: `docs/semantics.md 13.5`.
 */
export function edge<From, To = From, Checked = From>(
  options: EdgeOptions<From, Checked, To>,
): Edge<From, To> {
  const problems: ConfigProblem[] = isRecord(options)
    ? problemsIn(options, edgeRules, { path: 'edge.' })
    : [{ path: 'edge', allowed: 'an object with validate, metadata, map', given: options }]
  if (problems.length > 0) throw new ConfigError(problems)
  const part: EdgePart = { kind: 'edge', ...withoutUndefined(options) }
  return Object.freeze({ edges: [part] })
}

/** The edge that hands everything on as it is. */
export function identityEdge<T>(): Edge<T, T> {
  return identity as Edge<T, T>
}

/** The agent that gives what it gets; no task runs for it. */
export function passThrough<T>(): Composition<T, T> {
  return nothing as Composition<T, T>
}

/** The order of agents and edges. */
function partsOf(agent: Agent<unknown, unknown>): readonly Part[] {
  return 'parts' in agent ? agent.parts : [{ kind: 'stage', task: agent }]
}

/** Whether a value is what {@link compose} or {@link passThrough} gives. */
export function isComposition(value: unknown): value is Composition {
  return isRecord(value) && isList(value['parts'])
}

const identity: Edge = Object.freeze({ edges: [] })
const nothing: Composition = Object.freeze({ parts: [] })

const edgeRules: Rules<EdgeOptions<unknown, OutputOf<Schema>, unknown>> = {
  validate: [
    'a schema',
    (value) => isRecord(value) || (typeof value === 'object' && value !== null && '~standard' in value),
  ],
  metadata: functionRule,
  map: functionRule,
}

function agentProblems(path: string, given: unknown): ConfigProblem[] {
  if (isComposition(given) || isDefinition(given)) return []
  return [{ path, allowed: 'what defineTask, compose or passThrough returns', given }]
}

function edgeProblems(given: unknown): ConfigProblem[] {
  if (isRecord(given) && isList(given['edges'])) return []
  return [{ path: 'edge', allowed: 'what edge or identityEdge returns', given }]
}
