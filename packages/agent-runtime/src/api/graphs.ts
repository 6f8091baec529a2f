import type { SpawnOptions } from './task-context.ts'
import type { TaskType } from './task-type.ts'

/** What a node's child is submitted with, besides its input. */
export type NodeOptions = Omit<SpawnOptions, 'taskId' | 'onParentEnd' | 'whenFull'>

/** One node of a graph that is submitted: a task, where its input comes from, and what has to be done before. */
export interface GraphNode {
  /** A definition, or the name of a type. */
  readonly task: TaskType | string
  /** Its input as a value. At most one of this and `inputFrom`; neither: undefined. */
  readonly input?: unknown
  /** The node whose output is the input; or for each field of the input, the node whose output it is. */
  readonly inputFrom?: string | Readonly<Record<string, string>> | undefined
  /** Further nodes that have to be done before it starts. */
  readonly after?: readonly string[] | undefined
  readonly options?: NodeOptions | undefined
}

/** How the nodes of a graph are run. */
export interface GraphSettings {
  /** Nodes that may be submitted and not ended at a time; 100 by default. How many of them run, the workers decide. */
  readonly concurrency?: number | undefined
  /**
   * `stop` (default): the first node that fails ends the graph, and the others are canceled. `finish`: what does not depend on it
   * goes on, and then the graph fails with all failures.
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

/** What a graph gives: the output of each node. */
export type GraphOutput<Nodes extends GraphNodes> = {
  readonly [K in keyof Nodes]: Nodes[K]['task'] extends TaskType<string, infer _, infer Output>
    ? Output
    : unknown
}
