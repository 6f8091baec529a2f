import {
  isList,
  isName,
  isRecord,
  nameRule,
  namesRule,
  problemsIn,
  RESERVED,
  type Rules,
  show,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import { submitRules } from './submit-rules.ts'
import { taskTermsOf } from './task-definition.ts'
import type { TaskType } from '../api/task-type.ts'
import type { Graph, GraphNode, GraphSettings, NodeOptions } from '../api/graphs.ts'
import { orderProblems } from './graph-order.ts'

/** A well-formed node. */
export interface PlanNode {
  readonly task: TaskType | string
  /** All nodes that it waits for. */
  readonly after: readonly string[]
  readonly input:
    | { readonly from: 'value'; readonly value: unknown }
    | { readonly from: 'node'; readonly node: string }
    | { readonly from: 'nodes'; readonly nodes: Readonly<Record<string, string>> }
  readonly options: NodeOptions
}

export interface GraphPlan extends GraphSettings {
  readonly nodes: ReadonlyMap<string, PlanNode>
}

/** Every problem of a graph, one line each. Without problems there is a plan. */
export function parseGraph(given: unknown): {
  readonly plan: GraphPlan | undefined
  readonly problems: readonly string[]
} {
  if (!isRecord(given))
    return { plan: undefined, problems: [`a graph is an object with nodes; given ${show(given)}`] }
  const problems = linesOf(given, graphRules, 'graph ', ['nodes'])
  const nodes = new Map<string, PlanNode>()
  for (const [name, node] of Object.entries(isRecord(given['nodes']) ? given['nodes'] : {})) {
    const own = nodeProblems(name, node)
    problems.push(...own)
    // Other nodes may wait for a node with problems: dependencies are checked against all given names.
    nodes.set(name, planNode(node))
  }
  problems.push(...orderProblems(new Map([...nodes].map(([name, { after }]) => [name, after]))))
  if (problems.length > 0) return { plan: undefined, problems }
  const { concurrency, onFailure } = given as unknown as Graph
  const settings = { ...(concurrency && { concurrency }), ...(onFailure && { onFailure }) }
  return { plan: { nodes, ...settings }, problems }
}

function nodeProblems(name: string, node: unknown): string[] {
  const place = `node '${name}'`
  const problems = isNodeName(name)
    ? []
    : [`${place}: a name has ${nameRule[0]}, and must not begin with '${RESERVED}'`]
  if (!isRecord(node))
    return [...problems, `${place}: an object with task, input, inputFrom, after; given ${show(node)}`]
  problems.push(...linesOf(node, nodeRules, `${place} `, ['task']))
  if (isRecord(node['options']))
    problems.push(...linesOf(node['options'], optionRules, `${place} option `, []))
  if ('input' in node && node['input'] !== undefined && node['inputFrom'] !== undefined)
    problems.push(`${place}: input and inputFrom: give only one of them`)
  return problems
}

function isNodeName(name: string): boolean {
  return isName(name) && !name.startsWith(RESERVED)
}

function planNode(given: unknown): PlanNode {
  const node = (isRecord(given) ? given : {}) as Partial<GraphNode>
  const after = isList(node.after) ? node.after.filter(isName) : []
  const input = inputOf(node)
  const sources =
    input.from === 'value' ? [] : input.from === 'node' ? [input.node] : Object.values(input.nodes)
  const { task = '', options = {} } = node
  return { task, after: [...new Set([...sources, ...after])], input, options }
}

function inputOf({ input, inputFrom }: Partial<GraphNode>): PlanNode['input'] {
  if (isName(inputFrom)) return { from: 'node', node: inputFrom }
  if (isRecord(inputFrom)) {
    const fields = Object.entries(inputFrom).filter(([, node]) => isName(node))
    return { from: 'nodes', nodes: Object.fromEntries(fields) as Record<string, string> }
  }
  return { from: 'value', value: input }
}

function linesOf(
  given: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, readonly [string, (value: unknown) => boolean]>>,
  path: string,
  required: readonly string[],
): string[] {
  return problemsIn(given, rules, { path, required }).map(
    (problem) => `${problem.path}: ${problem.allowed}; given ${show(problem.given)}`,
  )
}

const graphRules: Rules<Graph> = {
  nodes: [
    'an object with at least one node by name',
    (value) => isRecord(value) && Object.keys(value).length > 0,
  ],
  concurrency: wholeNumber(1, 10_000),
  onFailure: ["'stop' or 'finish'", (value) => value === 'stop' || value === 'finish'],
}

const { taskId: _, idempotencyKey: __, client: ___, ...rest } = submitRules
const optionRules: Rules<NodeOptions> = rest

const nodeRules: Rules<GraphNode> = {
  task: [
    'what defineTask or defineContract returns, or the name of a task type',
    (task) => isName(task) || taskTermsOf(task) !== undefined,
  ],
  input: ['', () => true],
  inputFrom: [
    'the name of a node, or an object of such names',
    (from) => isName(from) || (isRecord(from) && Object.values(from).every(isName)),
  ],
  after: namesRule,
  options: ['an object with options', isRecord],
}
