import { describeError, firstLines, instead, invalid } from '@ku0/agent-runtime-core'
import type { SubmitItem, SubmitOptions } from '../execution/index.ts'
import { check, describeIssues } from '../schema.ts'
import type { TaskDefinition } from '../task-definition.ts'
import { graphTask } from './graph-task.ts'
import { parseGraph, type PlanNode } from './plan.ts'

/**
 * The submission of a graph's coordinating task, once nothing is wrong with the graph. Throws `invalid_argument` with everything that
 * is wrong: names, what waits for what, circles with their path, types, inputs. Source: `docs/semantics.md 13.3`.
 */
export async function graphSubmission(
  definitions: ReadonlyMap<string, TaskDefinition>,
  given: unknown,
  options: SubmitOptions | undefined,
): Promise<SubmitItem> {
  const { plan, problems } = parseGraph(given)
  if (plan === undefined) throw wrong(problems)
  const found = [...plan.nodes].map(([name, node]) => problemOf(name, node, definitions))
  const wrongNodes = (await Promise.all(found)).filter((problem) => problem !== undefined)
  if (wrongNodes.length > 0) throw wrong(wrongNodes)
  const { nodes, ...settings } = given as { readonly nodes: Readonly<Record<string, object>> }
  const stored = Object.entries(nodes).map(([name, node]) => [
    name,
    { ...node, task: typeOf(plan.nodes.get(name)) },
  ])
  return { task: graphTask, input: { ...settings, nodes: Object.fromEntries(stored) as object }, options }
}

/** What is wrong with a node's type, or with its input where that is known by now. */
async function problemOf(
  name: string,
  { task, input }: PlanNode,
  definitions: ReadonlyMap<string, TaskDefinition>,
): Promise<string | undefined> {
  const type = typeof task === 'string' ? task : task.type
  const definition = definitions.get(type)
  if (definition === undefined) {
    const known = [...definitions.keys()].filter((other) => other !== graphTask.type)
    return `node '${name}': no task of the type '${type}' is defined here${instead(type, known)}`
  }
  if (input.from !== 'value') return undefined
  try {
    const { issues } = await check(definition.input, input.value)
    return issues === undefined
      ? undefined
      : `node '${name}': the input does not fit task '${definition.type}': ${describeIssues('input', issues)}`
  } catch (error) {
    return `node '${name}': the schema of task '${definition.type}' failed: ${describeError(error).message}`
  }
}

function typeOf(node: PlanNode | undefined): string {
  const task = node?.task ?? ''
  return typeof task === 'string' ? task : task.type
}

function wrong(problems: readonly string[]): Error {
  return invalid(`submitGraph: ${firstLines(problems).join('\n')}`)
}
