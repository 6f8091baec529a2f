/** A node of a graph, as its submission has it. */
export interface GraphNode {
  readonly name: string
  readonly task: string
  readonly after: readonly string[]
}

/** Where a node stands, in px. */
export interface NodePlace {
  readonly node: GraphNode
  readonly x: number
  readonly y: number
}

export const NODE = { width: 168, height: 72, gap: 64, row: 16 }

/** The nodes of the input of a graph that was submitted as data. */
export function nodesOf(input: unknown): readonly GraphNode[] {
  const { nodes } = (input ?? {}) as { readonly nodes?: unknown }
  if (typeof nodes !== 'object' || nodes === null) return []
  return Object.entries(nodes).map(([name, given]) => {
    const { task, after, inputFrom } = (given ?? {}) as Readonly<Record<string, unknown>>
    const sources =
      typeof inputFrom === 'object' && inputFrom !== null ? Object.values(inputFrom) : [inputFrom]
    const before = [...sources, ...(Array.isArray(after) ? (after as unknown[]) : [])]
    return {
      name,
      task: typeof task === 'string' ? task : '',
      after: [...new Set(before.filter((it) => typeof it === 'string'))],
    }
  })
}

/** Columns by how many nodes have to be done before: an arrow always goes to the right. */
export function placesOf(nodes: readonly GraphNode[]): {
  readonly places: readonly NodePlace[]
  readonly width: number
  readonly height: number
} {
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const levels = new Map<string, number>()
  const levelOf = (name: string): number => {
    const known = levels.get(name)
    if (known !== undefined) return known
    // A submission with a circle is refused; this only ends.
    levels.set(name, 0)
    const before = (byName.get(name)?.after ?? []).filter((it) => byName.has(it))
    const level = Math.max(-1, ...before.map(levelOf)) + 1
    levels.set(name, level)
    return level
  }
  const rows: number[] = []
  const places = nodes.map((node) => {
    const level = levelOf(node.name)
    const row = rows[level] ?? 0
    rows[level] = row + 1
    return { node, x: level * (NODE.width + NODE.gap), y: row * (NODE.height + NODE.row) }
  })
  return {
    places,
    width: Math.max(1, rows.length) * (NODE.width + NODE.gap) - NODE.gap,
    height: Math.max(1, ...rows) * (NODE.height + NODE.row) - NODE.row,
  }
}

/** For the `d` of the path between two nodes. */
export function arrowBetween(from: NodePlace, to: NodePlace): string {
  const [startX, startY] = [from.x + NODE.width, from.y + NODE.height / 2]
  const [endX, endY] = [to.x - 2, to.y + NODE.height / 2]
  const bend = NODE.gap / 2
  return `M ${startX} ${startY} C ${startX + bend} ${startY} ${endX - bend} ${endY} ${endX} ${endY}`
}
