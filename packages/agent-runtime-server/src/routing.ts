import { suggestionFor } from '@ku0/agent-runtime-core'
import { fieldsRefused } from './problem/problem.ts'

/** So many names are listed where none is near; the root of the API has more. */
const MAX_LISTED = 12

/** A path: a handler for each method. */
export interface Place<Handler> {
  readonly methods: ReadonlyMap<string, Handler>
  readonly params: Readonly<Record<string, string>>
}

interface Node<Handler> {
  readonly literal: Map<string, Node<Handler>>
  param: { readonly name: string; readonly node: Node<Handler> } | undefined
  readonly methods: Map<string, Handler>
}

/** Finds what stands at a path. A path is its parts between slashes; a part `{name}` is a parameter. */
export class Routing<Handler> {
  readonly #root: Node<Handler> = emptyNode()

  add(method: string, path: string, handler: Handler): void {
    let node = this.#root
    for (const part of path.split('/')) {
      const name = /^\{(\w+)\}$/.exec(part)?.[1]
      const next =
        name === undefined ? node.literal.get(part) : node.param?.name === name ? node.param.node : undefined
      const made = next ?? emptyNode<Handler>()
      if (name === undefined) node.literal.set(part, made)
      else node.param ??= { name, node: made }
      if (name !== undefined && node.param?.node !== made)
        throw new Error(`two names for one part of the path ${path}`)
      node = made
    }
    node.methods.set(method, handler)
  }

  /** Undefined where nothing stands. Throws a problem for a part that is no text. */
  find(path: string): Place<Handler> | undefined {
    let node = this.#root
    const params: Record<string, string> = {}
    for (const raw of path.split('/')) {
      const part = raw.includes('%') ? decoded(raw) : raw
      const literal = node.literal.get(part)
      if (literal !== undefined) {
        node = literal
        continue
      }
      if (node.param === undefined) return undefined
      params[node.param.name] = part
      node = node.param.node
    }
    return node.methods.size === 0 ? undefined : { methods: node.methods, params }
  }

  /** For a path at which nothing stands: what there is in place of its first part that does not exist. Empty if nothing is like it. */
  near(path: string): string {
    let node = this.#root
    for (const part of path.split('/')) {
      const next = node.literal.get(part) ?? node.param?.node
      if (next !== undefined) {
        node = next
        continue
      }
      const known = [...node.literal.keys()]
      const meant = suggestionFor(part, known)
      const place = `in place of ${part.slice(0, 100)}`
      if (meant !== undefined) return `${place}, did you mean ${meant}? `
      return known.length === 0 || known.length > MAX_LISTED ? '' : `${place} there are ${known.join(', ')}; `
    }
    return ''
  }
}

function emptyNode<Handler>(): Node<Handler> {
  return { literal: new Map(), param: undefined, methods: new Map() }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw fieldsRefused([{ field: 'path', allowed: 'UTF-8 in percent signs' }])
  }
}
