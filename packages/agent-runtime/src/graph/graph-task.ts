import { RESERVED } from '@ku0/agent-runtime-core'
import type { Checked, Schema } from '../schema.ts'
import { defineOwnTask } from '../task-definition.ts'
import type { GraphSettings } from './graph.ts'
import { parseGraph, type PlanNode } from './plan.ts'
import { runGraph, type RunnableNode } from './run-graph.ts'

/** The type of the tasks that coordinate a graph that was submitted. Every process that runs workers runs it. */
export const GRAPH_TYPE = `${RESERVED}graph`

const graphSchema: Schema<unknown, Plan> = {
  '~standard': { version: 1, vendor: 'ku0', validate: planOf },
}

interface Plan extends GraphSettings {
  readonly nodes: ReadonlyMap<string, PlanNode>
}

/** Coordinates a graph that was submitted as data. Source: `docs/semantics.md 13.3`. */
export const graphTask = defineOwnTask(
  { type: GRAPH_TYPE, input: graphSchema },
  (ctx, { nodes, ...settings }) =>
    runGraph(ctx, new Map([...nodes].map(([name, node]) => [name, runnable(node)])), settings),
)

function planOf(value: unknown): Checked<Plan> {
  const { plan, problems } = parseGraph(value)
  return plan === undefined ? { issues: problems.map((message) => ({ message })) } : { value: plan }
}

function runnable({ task, after, input, options }: PlanNode): RunnableNode {
  return { task, after, options, input: (results) => inputOf(input, results) }
}

function inputOf(input: PlanNode['input'], results: ReadonlyMap<string, unknown>): unknown {
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
