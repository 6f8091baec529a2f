import type { SpawnOptions } from './task-context.ts'
import type { TaskType } from './task-type.ts'

/** Options of a node's child, besides its input. */
export type NodeOptions = Omit<SpawnOptions, 'taskId' | 'onParentEnd' | 'whenFull'>

/**
 * One node of a submitted graph: a task, where its input comes from, and the nodes that must complete before
 * it.
 */
export interface GraphNode {
  /** A definition, or the name of a type. */
  readonly task: TaskType | string
  /** Its input as a value. Give at most one of this and `inputFrom`; with neither, the input is undefined. */
  readonly input?: unknown
  /** The node whose output is the input; or, for each field of the input, the node whose output it is. */
  readonly inputFrom?: string | Readonly<Record<string, string>> | undefined
  /** Further nodes that must complete before it starts. */
  readonly after?: readonly string[] | undefined
  readonly options?: NodeOptions | undefined
}

/** How the nodes of a graph are run. */
export interface GraphSettings {
  /**
   * How many nodes may be submitted and not yet ended at the same time; 100 by default. The workers decide
   * how many of them run.
   */
  readonly concurrency?: number | undefined
  /**
   * `stop` (default): the first node that fails ends the graph, and the others are canceled. `finish`: nodes
   * that do not depend on the failed one go on, and then the graph fails with all failures.
   */
  readonly onFailure?: 'stop' | 'finish' | undefined
}

/** A graph of tasks as data: nodes by name, 1 to 255 characters each. Source: `docs/semantics.md 13.3`. */
export interface Graph<Nodes extends GraphNodes = GraphNodes> extends GraphSettings {
  readonly nodes: Nodes & NodesWithin<Nodes>
}

/** Nodes by name. */
export type GraphNodes = Readonly<Record<string, GraphNode>>

/** The nodes of a graph, as far as the compiler can check one against the others. */
export type NodesWithin<Nodes extends GraphNodes> = {
  readonly [K in keyof Nodes]: {
    readonly input?: (Nodes[K]['task'] extends TaskType<string, infer Input> ? Input : unknown) | undefined
    readonly inputFrom?: (keyof Nodes & string) | Readonly<Record<string, keyof Nodes & string>> | undefined
    readonly after?: readonly (keyof Nodes & string)[] | undefined
  }
}

/** The result of a graph: the output of each node. */
export type GraphOutput<Nodes extends GraphNodes> = {
  readonly [K in keyof Nodes]: Nodes[K]['task'] extends TaskType<string, infer _, infer Output>
    ? Output
    : unknown
}
