import { calledIn, nameOf } from './handler.ts'
import type { Node } from './rule.ts'

/** Calls that return something else each time, and what to do instead. */
const calls: Readonly<Record<string, string>> = {
  'Date.now': call('the time', 'now'),
  'performance.now': step('the time'),
  'process.hrtime': step('the time'),
  'process.hrtime.bigint': step('the time'),
  'Math.random': call('a random value', 'random'),
  'crypto.randomUUID': call('an id', 'uuid'),
  'crypto.randomBytes': step('random bytes'),
  'crypto.getRandomValues': step('random bytes'),
  randomUUID: call('an id', 'uuid'),
  randomBytes: step('random bytes'),
  randomInt: step('a random value'),
  nanoid: step('an id'),
}

/** Calls that have an effect or wait for the world outside. */
const effects: Readonly<Record<string, string>> = {
  fetch: 'put it into the function of a step: await ctx.step(KEY, () => fetch(…))',
  setTimeout: 'wait with await ctx.sleep(KEY, ms), which survives a crash',
  setInterval: 'wait with await ctx.sleep(KEY, ms) in a loop',
}

/** A call whose answer is another one in a replay; undefined for any other node. */
export function chanceIn(node: Node): { readonly name: string; readonly remedy: string } | undefined {
  if (node.type === 'NewExpression' && nameOf(node['callee'] as Node) === 'Date')
    return (node['arguments'] as readonly unknown[]).length === 0
      ? { name: 'new Date()', remedy: 'record the time: new Date(await ctx.now(KEY))' }
      : undefined
  return node.type === 'CallExpression' ? found(node, calls) : undefined
}

/** The same for a call that acts on the world outside. */
export function effectIn(node: Node): { readonly name: string; readonly remedy: string } | undefined {
  return node.type === 'CallExpression' ? found(node, effects) : undefined
}

function found(node: Node, known: Readonly<Record<string, string>>) {
  const name = calledIn(node)?.replace(/^globalThis\./, '')
  if (name === undefined || !Object.hasOwn(known, name)) return undefined
  return { name: `${name}()`, remedy: known[name] as string }
}

function step(what: string): string {
  return `record ${what} in a step: await ctx.step(KEY, () => …)`
}

function call(what: string, method: 'now' | 'random' | 'uuid'): string {
  return `record ${what}: await ctx.${method}(KEY)`
}
