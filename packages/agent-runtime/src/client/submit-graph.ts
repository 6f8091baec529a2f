import { describeError, firstLines, invalid } from '@ku0/agent-runtime-core'
import type { SubmitItem, SubmitOptions } from '../api/submissions.ts'
import { check, describeIssues } from '../terms/schema.ts'
import { GRAPH_TYPE } from '../terms/graph-contract.ts'
import { parseGraph, type PlanNode } from '../terms/graph-plan.ts'
import type { KnownTypes } from './known-types.ts'

/**
 * The submission of a graph's coordinating task. Throws `invalid_argument` with every problem of the graph:
 * names, dependencies, cycles with their path, types, inputs. Source: `docs/semantics.md 13.3`.
 */
export async function graphSubmission(
  types: KnownTypes,
  given: unknown,
  options: SubmitOptions | undefined,
): Promise<SubmitItem> {
  const { plan, problems } = parseGraph(given)
  if (plan === undefined) throw wrong(problems)
  const found = [...plan.nodes].map(([name, node]) => problemOf(name, node, types))
  const wrongNodes = (await Promise.all(found)).filter((problem) => problem !== undefined)
  if (wrongNodes.length > 0) throw wrong(wrongNodes)
  const { nodes, ...settings } = given as { readonly nodes: Readonly<Record<string, object>> }
  const stored = Object.entries(nodes).map(([name, node]) => [
    name,
    { ...node, task: typeOf(plan.nodes.get(name)) },
  ])
  return { task: GRAPH_TYPE, input: { ...settings, nodes: Object.fromEntries(stored) as object }, options }
}

/** The problem with a node's type, or with its input if that is already known. */
async function problemOf(
  name: string,
  { task, input }: PlanNode,
  types: KnownTypes,
): Promise<string | undefined> {
  const type = typeof task === 'string' ? task : task.type
  const terms = types.find(type, task)
  if (terms === undefined) {
    const refusal = types.refusalOf(type, `'${type}'`)
    return refusal === undefined ? undefined : `node '${name}': ${refusal}`
  }
  if (input.from !== 'value') return undefined
  try {
    const { issues } = await check(terms.input, input.value)
    return issues === undefined
      ? undefined
      : `node '${name}': the input does not fit the schema of task '${type}': ${describeIssues('input', issues)}`
  } catch (error) {
    return `node '${name}': the schema of task '${type}' failed: ${describeError(error).message}`
  }
}

function typeOf(node: PlanNode | undefined): string {
  const task = node?.task ?? ''
  return typeof task === 'string' ? task : task.type
}

function wrong(problems: readonly string[]): Error {
  return invalid(`submitGraph: ${firstLines(problems).join('\n')}`)
}
