/**
 * A place in an order by shares: compared by tier, dominant share, virtual time, sequence of submission, and id, which is unlike any other.
 * Source: `docs/semantics.md` C5.
 */
export interface ShareEntry {
  readonly tier: number
  /** The dominant share of its client, where that orders clients. Source: `docs/semantics.md 11.10`. */
  readonly dominant?: number
  readonly time: number
  readonly sequence: number
  readonly id: number
}

/** Entries in their order. A tree never changes: what adds or removes makes another, which shares most of it. */
export type ShareTree = Node | undefined

interface Node {
  readonly entry: ShareEntry
  readonly left: ShareTree
  readonly right: ShareTree
  readonly size: number
}

/** Below 0 when `a` comes first. */
export function compareShares(a: ShareEntry, b: ShareEntry): number {
  return (
    a.tier - b.tier ||
    (a.dominant ?? 0) - (b.dominant ?? 0) ||
    a.time - b.time ||
    a.sequence - b.sequence ||
    a.id - b.id
  )
}

/** The entry that comes first, in O(log n). */
export function firstOf(tree: ShareTree): ShareEntry | undefined {
  let least = tree
  while (least?.left !== undefined) least = least.left
  return least?.entry
}

/** With one more entry, in O(log n); one that is there already changes nothing. */
export function withEntry(tree: ShareTree, entry: ShareEntry): ShareTree {
  if (tree === undefined) return node(entry, undefined, undefined)
  const order = compareShares(entry, tree.entry)
  if (order === 0) return tree
  return order < 0
    ? balanced(tree.entry, withEntry(tree.left, entry), tree.right)
    : balanced(tree.entry, tree.left, withEntry(tree.right, entry))
}

/** Without an entry, in O(log n); one that is not there changes nothing. */
export function withoutEntry(tree: ShareTree, entry: ShareEntry): ShareTree {
  if (tree === undefined) return undefined
  const order = compareShares(entry, tree.entry)
  if (order < 0) return balanced(tree.entry, withoutEntry(tree.left, entry), tree.right)
  if (order > 0) return balanced(tree.entry, tree.left, withoutEntry(tree.right, entry))
  return joined(tree.left, tree.right)
}

export function treeSize(tree: ShareTree): number {
  return tree?.size ?? 0
}

/** All entries, in order. */
export function* entriesOf(tree: ShareTree): Generator<ShareEntry> {
  if (tree === undefined) return
  yield* entriesOf(tree.left)
  yield tree.entry
  yield* entriesOf(tree.right)
}

/** The tree of entries that are in order already, in O(n). */
export function treeOf(entries: readonly ShareEntry[], from = 0, to = entries.length): ShareTree {
  if (from >= to) return undefined
  const middle = (from + to) >> 1
  return node(entries[middle] as ShareEntry, treeOf(entries, from, middle), treeOf(entries, middle + 1, to))
}

/** The tree of entries in any order, in O(n log n). */
export function sortedTree(entries: readonly ShareEntry[]): ShareTree {
  return treeOf(entries.toSorted(compareShares))
}

function node(entry: ShareEntry, left: ShareTree, right: ShareTree): Node {
  return { entry, left, right, size: treeSize(left) + treeSize(right) + 1 }
}

/**
 * A node whose sides may differ in weight by one entry more than they should: rotated back. One side weighs at most three times the
 * other (Adams; the bounds are those that Hirai and Yamamoto proved).
 */
function balanced(entry: ShareEntry, left: ShareTree, right: ShareTree): Node {
  if (weightOf(right) > 3 * weightOf(left)) {
    const { entry: above, left: inner, right: outer } = right as Node
    if (weightOf(inner) < 2 * weightOf(outer)) return node(above, node(entry, left, inner), outer)
    const middle = inner as Node
    return node(middle.entry, node(entry, left, middle.left), node(above, middle.right, outer))
  }
  if (weightOf(left) > 3 * weightOf(right)) {
    const { entry: above, left: outer, right: inner } = left as Node
    if (weightOf(inner) < 2 * weightOf(outer)) return node(above, outer, node(entry, inner, right))
    const middle = inner as Node
    return node(middle.entry, node(above, outer, middle.left), node(entry, middle.right, right))
  }
  return node(entry, left, right)
}

function weightOf(tree: ShareTree): number {
  return treeSize(tree) + 1
}

/** Two trees of which the left one comes first. */
function joined(left: ShareTree, right: ShareTree): ShareTree {
  const first = firstOf(right)
  return first === undefined ? left : balanced(first, left, withoutEntry(right, first))
}
