import type { Node } from './rule.ts'

/** The methods of a context that record something under a key, and return a promise. */
const durableCalls: ReadonlySet<string> = new Set([
  'all',
  'call',
  'exec',
  'now',
  'patched',
  'publish',
  'publishAll',
  'race',
  'random',
  'receive',
  'requestApproval',
  'sleep',
  'sleepUntil',
  'spawn',
  'step',
  'uuid',
  'waitForSignal',
])

/** Functions in the arguments of these do not run in a replay: results of steps are stored, and hooks run only when a pass ends. */
const outsideOfReplay: ReadonlySet<string> = new Set(['step', 'onCleanup'])

/** Whether code runs again whenever its task is replayed: it stands in a handler, and not in the function of a step. */
export function isReplayed(node: Node): boolean {
  let isInFunction = false
  for (let at = node; at.parent !== undefined && at.parent !== null; at = at.parent) {
    if (isFunction(at)) {
      isInFunction = true
      if (isHandler(at)) return true
    }
    if (isInFunction && at.type === 'CallExpression' && outsideOfReplay.has(methodOf(at) ?? '')) return false
  }
  return false
}

/** The name of the durable call that a node is, such as `step` of `ctx.step(…)`; undefined for anything else. */
export function durableCallOf(node: Node): string | undefined {
  if (node.type !== 'CallExpression') return undefined
  const callee = node['callee'] as Node
  const object = callee['object'] as Node | undefined
  const method = methodOf(node)
  if (object?.type !== 'Identifier' || method === undefined || !durableCalls.has(method)) return undefined
  return isContext(node, object['name'] as string) ? method : undefined
}

/** The name of the called function, as it is written: `fetch`, `Date.now`, `crypto.randomUUID`. */
export function calledIn(node: Node): string | undefined {
  return nameOf(node['callee'] as Node)
}

export function nameOf(node: Node): string | undefined {
  if (node.type === 'Identifier') return node['name'] as string
  if (node.type !== 'MemberExpression' || node['computed'] === true) return undefined
  const object = nameOf(node['object'] as Node)
  const property = nameOf(node['property'] as Node)
  return object === undefined || property === undefined ? undefined : `${object}.${property}`
}

/** A name is a context if a handler, or a branch inside of one, has it as its first parameter. */
function isContext(node: Node, name: string): boolean {
  for (let at: Node | null | undefined = node; at !== undefined && at !== null; at = at.parent) {
    if (!isFunction(at)) continue
    const [first] = at['params'] as readonly Node[]
    if (first?.type === 'Identifier' && first['name'] === name) return takesContext(at)
  }
  return false
}

function takesContext(node: Node): boolean {
  return isHandler(node) || isBranch(node)
}

/** The handler of `defineTask` or `defineAgent`, or a function whose first parameter is declared as a `TaskContext`. */
function isHandler(node: Node): boolean {
  const call = node.parent
  if (call?.type === 'CallExpression' && (call['arguments'] as readonly Node[])[1] === node)
    if (/(?:^|\.)define(?:Task|Agent)$/.test(calledIn(call) ?? '')) return true
  const [first] = node['params'] as readonly Node[]
  const annotation = (first?.['typeAnnotation'] as Node | undefined)?.['typeAnnotation'] as Node | undefined
  return annotation?.type === 'TSTypeReference' && nameOf(annotation['typeName'] as Node) === 'TaskContext'
}

/** A function in the object of `ctx.race('key', { … })` or `ctx.all`. */
function isBranch(node: Node): boolean {
  const call = node.parent?.parent?.parent
  return call?.type === 'CallExpression' && /^(?:race|all)$/.test(methodOf(call) ?? '')
}

function methodOf(call: Node): string | undefined {
  const callee = call['callee'] as Node
  return callee.type === 'MemberExpression' ? nameOf(callee['property'] as Node) : undefined
}

function isFunction({ type }: Node): boolean {
  return type === 'ArrowFunctionExpression' || type === 'FunctionExpression' || type === 'FunctionDeclaration'
}
