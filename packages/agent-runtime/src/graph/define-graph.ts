import { ConfigError, invalid, isRecord } from '@ku0/agent-runtime-core'
import type { Declarations } from '../api/exchange.ts'
import type { InputOf, OutputOf, Schema } from '../api/schema.ts'
import { defineTask, optionProblems, partsOnly } from '../terms/task-definition.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskDefinitionOptions } from '../api/task-type.ts'
import type { GraphSettings, NodeOptions } from '../api/graphs.ts'
import { naming } from '../terms/named-tasks.ts'
import { parseGraph } from '../terms/graph-plan.ts'
import { runGraph, type RunnableNode } from './run-graph.ts'

/** Task definitions by the name of their node. */
export type GraphTasks = Readonly<Record<string, TaskDefinition>>

/** The output of each node. */
export type GraphResults<Tasks extends GraphTasks> = {
  readonly [K in keyof Tasks]: Tasks[K] extends TaskDefinition<string, infer _, infer Output> ? Output : never
}

/** A node of a graph that stands in code. */
export interface DefinedNode<Tasks extends GraphTasks, K extends keyof Tasks, Input> {
  readonly task: Tasks[K]
  /** The nodes that have to be done before; their results can be used. */
  readonly after?: readonly (keyof Tasks & string)[] | undefined
  /**
   * Makes the node's input of the graph's own and of the results of the nodes in `after`; without it the input is undefined. It is
   * called in every pass and may not wait: it should give the same for the same.
   */
  readonly input?:
    | ((given: {
        readonly input: Input
        readonly results: GraphResults<Tasks>
      }) => Tasks[K] extends TaskDefinition<string, infer NodeInput> ? NodeInput : never)
    | undefined
  readonly options?: NodeOptions | undefined
}

export interface GraphDefinition<Type extends string, Input extends Schema, Tasks extends GraphTasks>
  extends
    Omit<TaskDefinitionOptions<Type, Input, undefined>, 'output' | 'signals' | 'approvals' | 'emits'>,
    GraphSettings {
  readonly nodes: { readonly [K in keyof Tasks]: DefinedNode<Tasks, K, OutputOf<Input>> }
}

/**
 * Defines a graph as a task type: it is submitted like any other task, and gives the output of every node by name, each `maxPayloadBytes` at most. Throws `ConfigError`
 * naming every field, node and circle that is wrong. Source: `docs/semantics.md 13.3`.
 */
export function defineGraph<const Type extends string, Input extends Schema, Tasks extends GraphTasks>(
  definition: GraphDefinition<Type, Input, Tasks>,
): TaskDefinition<Type, InputOf<Input>, GraphResults<Tasks>> {
  if (!isRecord(definition)) {
    const allowed =
      'an object with type, input, nodes, concurrency, onFailure and the other options of defineTask'
    throw new ConfigError([{ path: 'graph', allowed, given: definition }])
  }
  const { nodes, concurrency, onFailure, ...options } = definition as GraphDefinition<Type, Input, Tasks>
  const settings = { ...(concurrency && { concurrency }), ...(onFailure && { onFailure }) }
  const problems = [
    ...definitionProblems({ nodes, ...settings }),
    ...optionProblems(options, { kind: 'graph', own: ownOptions, without: partsOnly }),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
  const entries = Object.entries<DefinedNode<Tasks, string, never>>(nodes as never)
  const graph = defineTask(
    options as TaskDefinitionOptions<Type, Input, undefined, Declarations<undefined, undefined, undefined>>,
    (ctx, input) => {
      const runnable = entries.map(([name, node]) => [name, runnableOf(name, node, input)] as const)
      return runGraph(ctx, new Map(runnable), settings) as Promise<GraphResults<Tasks>>
    },
  )
  return naming(graph, 'graph', () =>
    entries.map(([name, node]) => ({ place: `node '${name}' task`, type: node.task.type })),
  )
}

const ownOptions = ['type', 'input', 'nodes', 'concurrency', 'onFailure']

/** The same rules as for a graph that is submitted; what makes the input stands in code. */
function definitionProblems({ nodes, ...settings }: { readonly nodes: unknown } & GraphSettings) {
  const isFunction = (value: unknown) => value === undefined || typeof value === 'function'
  const entries = Object.entries(isRecord(nodes) ? nodes : {})
  const wrong = entries.filter(([, node]) => isRecord(node) && !isFunction(node['input']))
  const plain = entries.map(([name, node]) => [name, isRecord(node) ? { ...node, input: undefined } : node])
  const { problems } = parseGraph({ ...settings, nodes: Object.fromEntries(plain) as object })
  return [
    ...problems.map((allowed) => ({ path: 'graph', allowed })),
    ...wrong.map(([name, node]) => ({
      path: `node '${name}' input`,
      allowed: 'a function ({ input, results }) => …',
      given: (node as { input: unknown }).input,
    })),
  ]
}

function runnableOf<Tasks extends GraphTasks>(
  name: string,
  { task, after = [], input, options = {} }: DefinedNode<Tasks, string, never>,
  given: unknown,
): RunnableNode {
  const make = input as ((given: object) => unknown) | undefined
  return {
    task,
    after,
    options,
    input: (results) => make?.({ input: given, results: visible(name, after, results) }),
  }
}

/** Only what a node waits for is there for certain: all else is refused, so that it does not depend on chance. */
function visible(name: string, after: readonly string[], results: ReadonlyMap<string, unknown>): object {
  const own = Object.fromEntries(after.map((other) => [other, results.get(other)]))
  return new Proxy(own, {
    get: (target, key) => {
      if (typeof key === 'symbol' || Object.hasOwn(target, key)) return Reflect.get(target, key) as unknown
      throw invalid(`node '${name}' uses the result of '${key}', which its after does not list`)
    },
  })
}
