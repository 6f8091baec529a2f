import { ConfigError, isName, isRecord, RuntimeError } from '@ku0/agent-runtime-core'
import { check, describeIssues } from '../terms/schema.ts'
import type { Schema } from '../api/schema.ts'
import type { TaskContext } from '../api/task-context.ts'
import { naming } from '../terms/named-tasks.ts'
import { defineTask } from '../terms/task-definition.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskDefinitionOptions } from '../api/task-type.ts'
import { type Composition, type EdgePart, isComposition, type Metadata } from './compose.ts'

/** The options of {@link defineComposition} besides the composition. */
export interface CompositionOptions<Type extends string> extends Omit<
  TaskDefinitionOptions<Type, Schema, undefined>,
  'input' | 'output'
> {
  /** Checked at submission; that of the first agent by default. Needed when an edge comes first. */
  readonly input?: Schema | undefined
  /** The data that go along from the beginning. */
  readonly metadata?: Metadata | undefined
}

/**
 * Defines a composition as a task type. Each agent runs as a child of the task, each edge in a step, one after the other: a crash
 * goes on where it was, and a retry keeps what was done. Throws `ConfigError`. Source: `docs/semantics.md 13.5`.
 */
export function defineComposition<const Type extends string, Input, Output>(
  definition: CompositionOptions<Type>,
  composition: Composition<Input, Output>,
): TaskDefinition<Type, Input, Output> {
  if (!isComposition(composition))
    throw new ConfigError([{ path: 'composition', allowed: 'what compose returns', given: composition }])
  if (!isRecord(definition)) {
    const allowed = 'an object with type, input, metadata and the other options of defineTask'
    throw new ConfigError([{ path: 'composition', allowed, given: definition }])
  }
  const { metadata = {}, ...options } = definition as CompositionOptions<Type>
  const { parts } = composition
  const [first] = parts
  const input = options.input ?? (first?.kind === 'stage' ? first.task.input : undefined)
  if (input === undefined) {
    const allowed = 'a schema, because the composition does not begin with an agent'
    const path = isName(options.type) ? `task '${options.type}': input` : 'task: input'
    throw new ConfigError([{ path, allowed, given: undefined }])
  }
  const task = defineTask({ ...options, input }, (ctx, value) => runParts(ctx, parts, { value, metadata }))
  const agents = parts.flatMap((part) => (part.kind === 'stage' ? [part.task.type] : []))
  const named = naming(task, 'composition', () =>
    agents.map((agent, at) => ({ place: `agent ${at + 1}`, type: agent })),
  )
  return named as TaskDefinition<Type, Input, Output>
}

interface Flow {
  readonly value: unknown
  readonly metadata: Metadata
}

async function runParts(ctx: TaskContext, parts: Composition['parts'], begin: Flow): Promise<unknown> {
  let { value, metadata } = begin
  let stages = 0
  let edges = 0
  for (const part of parts) {
    if (part.kind === 'stage') {
      stages += 1
      value = await ctx.call(`agent ${stages}`, part.task, value)
    } else {
      edges += 1
      const given = { value, metadata }
      const name = `edge ${edges}`
      ;({ value, metadata } = await ctx.step(name, () => passed(name, part, given)))
    }
  }
  return value
}

/** What comes out of an edge. Source: agent-scheduler-paper 3.5. */
async function passed(name: string, { validate, metadata, map }: EdgePart, given: Flow): Promise<Flow> {
  const value = validate === undefined ? given.value : await checked(name, validate, given.value)
  const more = metadata?.(value as never, given.metadata)
  const along = { ...given.metadata, ...more }
  return { value: map === undefined ? value : await map(value as never, along), metadata: along }
}

async function checked(name: string, schema: Schema, value: unknown): Promise<unknown> {
  const answer = await check(schema, value)
  if (answer.issues === undefined) return answer.value
  const what = describeIssues('output', answer.issues)
  throw new RuntimeError('invalid_output', `${name} refuses the output of the agent before it: ${what}`)
}
