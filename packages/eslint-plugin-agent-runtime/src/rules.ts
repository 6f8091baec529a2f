import { chanceIn, effectIn } from './chance.ts'
import { calledIn, durableCallOf, isReplayed } from './handler.ts'
import { type Node, type Rule, ruleFor } from './rule.ts'

const noNondeterminism = ruleFor(
  'No time, chance, requests or timers in a handler outside of steps.',
  ['CallExpression', 'NewExpression'],
  (node) => {
    const found = chanceIn(node) ?? effectIn(node)
    if (found === undefined || !isReplayed(node) || isInKey(node)) return undefined
    return `${found.name} runs again in each replay of the handler, and may return something else: ${found.remedy}.`
  },
)

const noFloatingStep = ruleFor('Every durable call is awaited.', ['ExpressionStatement'], (node) => {
  const expression = withoutVoid(node['expression'] as Node)
  const call = durableCallOf(expression)
  if (call === undefined) return undefined
  return `ctx.${call}() is not awaited: the handler may return before it ends. Write await, or collect the calls with Promise.all.`
})

const stableStepNames = ruleFor(
  'The key of a durable call is the same in each replay.',
  ['CallExpression', 'NewExpression'],
  (node) => {
    const found = chanceIn(node)
    if (found === undefined || !isInKey(node)) return undefined
    return `${found.name} makes another key in each replay, so what was recorded is not found again: build keys from the input, an index or a recorded id.`
  },
)

const noSwallowedErrors = ruleFor(
  'A catch block around durable calls looks at the error.',
  ['TryStatement'],
  (node) => {
    const handler = node['handler'] as Node | null
    if (handler === null || handler['param'] !== null) return undefined
    if (throwsIn(handler['body'] as Node)) return undefined
    const call = firstDurableCall(node['block'] as Node)
    if (call === undefined) return undefined
    return `this catch also swallows what stops the handler, such as a cancellation or a lost lease, thrown by ctx.${call}(): write catch (error) and rethrow what you do not expect.`
  },
)

const noResultInHandler = ruleFor(
  'A handler waits for another task with ctx.call.',
  ['CallExpression'],
  (node) => {
    if (!/^(?:runtime|client)\.result$/.test(calledIn(node) ?? '') || !isReplayed(node)) return undefined
    return `${calledIn(node)}() in a handler holds the slot that the other task may need: write await ctx.call(KEY, task, input).`
  },
)

/** The rules by name. */
export const rules: Readonly<Record<string, Rule>> = {
  'no-floating-step': noFloatingStep,
  'no-nondeterminism': noNondeterminism,
  'no-result-in-handler': noResultInHandler,
  'no-swallowed-errors': noSwallowedErrors,
  'stable-step-names': stableStepNames,
}

/** Whether a node stands in the first argument of a durable call. */
function isInKey(node: Node): boolean {
  for (let at = node; at.parent !== undefined && at.parent !== null; at = at.parent) {
    if (/Function/.test(at.type)) return false
    if (durableCallOf(at.parent) !== undefined) return (at.parent['arguments'] as readonly Node[])[0] === at
  }
  return false
}

function withoutVoid(node: Node): Node {
  return node.type === 'UnaryExpression' && node['operator'] === 'void' ? (node['argument'] as Node) : node
}

function firstDurableCall(node: Node): string | undefined {
  const call = durableCallOf(node)
  if (call !== undefined) return call
  for (const child of childrenOf(node)) {
    const found = firstDurableCall(child)
    if (found !== undefined) return found
  }
  return undefined
}

function throwsIn(node: Node): boolean {
  return node.type === 'ThrowStatement' || childrenOf(node).some(throwsIn)
}

function childrenOf(node: Node): readonly Node[] {
  return Object.entries(node)
    .filter(([field]) => field !== 'parent')
    .flatMap(([, value]): readonly unknown[] => (Array.isArray(value) ? value : [value]))
    .filter(isNode)
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string'
}
