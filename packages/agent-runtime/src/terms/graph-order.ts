/** For each node, by name, the nodes that it waits for. */
export type Dependencies = ReadonlyMap<string, readonly string[]>

/** Every problem of the dependencies, one line each: unknown nodes, and cycles with their path. */
export function orderProblems(dependencies: Dependencies): string[] {
  const unknown = [...dependencies].flatMap(([name, after]) =>
    [...new Set(after)]
      .filter((other) => !dependencies.has(other))
      .map((other) => `node '${name}' waits for '${other}', which is not a node`),
  )
  const circles = circlesIn(dependencies).map((path) => `a circle: ${shortened(path).join(' → ')}`)
  return [...unknown, ...circles]
}

/** A long cycle is cut in the middle. */
function shortened(path: readonly string[]): readonly string[] {
  if (path.length <= 2 * ENDS_TOLD + 1) return path
  const left = path.length - 2 * ENDS_TOLD
  return [...path.slice(0, ENDS_TOLD), `… (${left} more)`, ...path.slice(-ENDS_TOLD)]
}

/** Number of nodes that are named at each end of a long cycle. */
const ENDS_TOLD = 10

/**
 * Cycles without a common node, each from a node back to itself, in the order in which they would have to
 * run.
 */
function circlesIn(dependencies: Dependencies): string[][] {
  const circles: string[][] = []
  let left = entangled(new Map(dependencies))
  while (left.size > 0) {
    const circle = walk(left)
    circles.push(circle)
    for (const name of circle) left.delete(name)
    left = entangled(left)
  }
  return circles
}

/** The nodes that can never start, each with at least one of the nodes that it waits for. */
function entangled(dependencies: Map<string, readonly string[]>): Map<string, readonly string[]> {
  const followers = new Map<string, string[]>()
  const missing = new Map<string, number>()
  const ready: string[] = []
  for (const [name, after] of dependencies) {
    const known = new Set(after.filter((other) => dependencies.has(other)))
    for (const other of known) followers.set(other, [...(followers.get(other) ?? []), name])
    missing.set(name, known.size)
    if (known.size === 0) ready.push(name)
  }
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    dependencies.delete(next)
    for (const follower of followers.get(next) ?? []) {
      const count = (missing.get(follower) ?? 0) - 1
      missing.set(follower, count)
      if (count === 0) ready.push(follower)
    }
  }
  return dependencies
}

/** Going from each node to one that it waits for, the walk reaches a node that it has visited. */
function walk(left: Dependencies): string[] {
  const path: string[] = []
  const seen = new Map<string, number>()
  let at = [...left.keys()][0] as string
  while (!seen.has(at)) {
    seen.set(at, path.length)
    path.push(at)
    at = left.get(at)?.find((other) => left.has(other)) as string
  }
  const circle = path.slice(seen.get(at)).toReversed()
  return [...rotated(circle), rotated(circle)[0] as string]
}

/** Starts at the first name in order, so that a cycle reads the same wherever it was found. */
function rotated(circle: readonly string[]): readonly string[] {
  const first = circle.indexOf(circle.toSorted()[0] as string)
  return [...circle.slice(first), ...circle.slice(0, first)]
}
