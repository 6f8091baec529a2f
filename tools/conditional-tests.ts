// Finds out of a test's source whether it may be left out of a run.
import { parseAst } from 'vitest/node'

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** What leaves a test out, or turns it round: `test.skipIf(…)(…)`, `describe.todo(…)`. */
const leavingOut = new Set(['skip', 'skipIf', 'runIf', 'todo', 'fails'])

/**
 * Why the tests that have this text in their title may be left out: the call or the branch around one, or a `skip()` inside it.
 * Undefined when nothing does that.
 */
export function conditionOf(source: string, title: string): string | undefined {
  if (isPlain(source, title)) return undefined
  const program = parsed(source)
  for (const path of pathsToTitle(program, source, title)) {
    for (const node of path) {
      const skip = skipOf(node)
      if (skip !== undefined) return skip
      if (branching.has(node.type)) return firstLine(source, node)
    }
    const test = path.findLast(({ type }) => type === 'CallExpression')
    const within = test && [...descendants(test)].map(skipOf).find((found) => found !== undefined)
    if (within !== undefined) return within
  }
  return undefined
}

const mayLeaveOut = /\b(?:skip\w*|runIf|todo|fails)\b/
const opensTest = /^\s*(?:test|it|describe|rule|timed)\b[^?&|]*$/
const isTitle = /^\s*(?:(?:test|it|describe|rule|timed)\b[^?&|'"`]*)?['"`]$/

/**
 * Whether the lines say that nothing leaves the title out, which most do, in a tenth of the time that parsing takes: no word for it is in the source, and each line
 * around the title, by its indentation, begins a test or a group of them.
 */
function isPlain(source: string, title: string): boolean {
  if (mayLeaveOut.test(source)) return false
  return placesOf(title, source).every((place) => {
    const lines = source.slice(0, place).split('\n')
    const own = lines.pop() ?? ''
    const before = /^.*?['"`]/.exec(own)?.[0] ?? ''
    if (!isTitle.test(before)) return false
    let depth = indentOf(own)
    for (const line of lines.toReversed()) {
      if (depth === 0) break
      if (line.trim() === '' || indentOf(line) >= depth) continue
      if (!opensTest.test(line)) return false
      depth = indentOf(line)
    }
    return true
  })
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

/** A source is asked about many titles, one after the other. */
const parsedSources = new Map<string, Node>()

function parsed(source: string): Node {
  const known = parsedSources.get(source)
  if (known !== undefined) return known
  const program = parseAst(source, { lang: 'ts' }) as Node
  parsedSources.set(source, program)
  return program
}

const branching = new Set(['IfStatement', 'ConditionalExpression', 'LogicalExpression', 'SwitchStatement'])

/** From the program down to each string with the text in it. */
function pathsToTitle(program: Node, source: string, title: string): Node[][] {
  const found: Node[][] = []
  const places = placesOf(title, source)
  const visit = (node: Node, path: Node[]) => {
    if (!places.some((place) => node.start <= place && place + title.length <= node.end)) return
    const here = [...path, node]
    if (strings.has(node.type)) found.push(here)
    else for (const child of childrenOf(node)) visit(child, here)
  }
  visit(program, [])
  return found
}

function placesOf(title: string, source: string): number[] {
  const places: number[] = []
  for (let place = source.indexOf(title); place !== -1; place = source.indexOf(title, place + 1))
    places.push(place)
  return places
}

const strings = new Set(['Literal', 'TemplateLiteral'])

/** The name of what a call leaves tests out by: `skipIf` of `test.skipIf(…)(…)`. */
function skipOf(node: Node): string | undefined {
  if (node.type !== 'CallExpression') return undefined
  let part: CalleePart | undefined = (node as CalleePart).callee
  while (part !== undefined) {
    const word = part.name ?? part.property?.name
    if (word !== undefined && leavingOut.has(word)) return word
    part = part.object ?? part.callee ?? part.tag
  }
  return undefined
}

/** A name, a member of something, or a call or template tag of it: `test`, `test.each`, `` test.each`…` ``. */
interface CalleePart extends Node {
  readonly name?: string
  readonly property?: { readonly name?: string }
  readonly object?: CalleePart
  readonly callee?: CalleePart
  readonly tag?: CalleePart
}

function* descendants(node: Node): Iterable<Node> {
  for (const child of childrenOf(node)) {
    yield child
    yield* descendants(child)
  }
}

function childrenOf(node: Node): Node[] {
  return Object.values(node).flat().filter(isNode)
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

function firstLine(source: string, { start, end }: Node): string {
  return source.slice(start, end).split('\n')[0] ?? ''
}
