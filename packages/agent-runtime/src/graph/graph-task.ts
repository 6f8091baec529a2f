import { graphContract } from '../terms/graph-contract.ts'
import type { PlanNode } from '../terms/graph-plan.ts'
import { defineOwnTask } from '../terms/task-definition.ts'
import { runGraph, type RunnableNode } from './run-graph.ts'

/** Coordinates a graph that was submitted as data. Source: `docs/semantics.md 13.3`. */
export const graphTask = defineOwnTask(graphContract, (ctx, { nodes, ...settings }) =>
  runGraph(ctx, new Map([...nodes].map(([name, node]) => [name, runnable(node)])), settings),
)

function runnable({ task, after, input, options }: PlanNode): RunnableNode {
  return { task, after, options, input: (results) => inputOf(input, results) }
}

/** The input of a node of a graph that is data. */
export function inputOf(input: PlanNode['input'], results: ReadonlyMap<string, unknown>): unknown {
  switch (input.from) {
    case 'value':
      return input.value
    case 'node':
      return results.get(input.node)
    case 'nodes':
      return Object.fromEntries(
        Object.entries(input.nodes).map(([field, node]) => [field, results.get(node)]),
      )
  }
}
