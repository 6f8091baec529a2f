import { RESERVED } from '@ku0/agent-runtime-core'
import type { GraphSettings } from '../api/graphs.ts'
import type { Checked, Schema } from '../api/schema.ts'
import { parseGraph, type PlanNode } from './graph-plan.ts'
import { ownTerms, type TaskTerms } from './task-definition.ts'

/** The type of tasks that coordinate a submitted graph. Every process with workers runs it. */
export const GRAPH_TYPE = `${RESERVED}graph`

/** A submitted graph, parsed. */
interface Plan extends GraphSettings {
  readonly nodes: ReadonlyMap<string, PlanNode>
}

const graphSchema: Schema<unknown, Plan> = {
  '~standard': { version: 1, vendor: 'ku0', validate: planOf },
}

/** The task type that coordinates a graph, without its handler. */
export const graphContract = { type: GRAPH_TYPE, input: graphSchema }

/** The terms of a graph's coordinating task. */
export const graphTerms: TaskTerms = ownTerms(graphContract)

function planOf(value: unknown): Checked<Plan> {
  const { plan, problems } = parseGraph(value)
  return plan === undefined ? { issues: problems.map((message) => ({ message })) } : { value: plan }
}
