/**
 * The known name that someone who wrote `name` most likely meant: the nearest in single-character edits, case
 * aside, if it is near enough to be a slip. The first of equals.
 */
export function suggestionFor(name: string, known: readonly string[]): string | undefined {
  if (name.length > 100) return undefined
  const ranked = known
    .map((candidate) => ({ candidate, edits: editsBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((a, b) => a.edits - b.edits)
  const [best] = ranked
  return best !== undefined && best.edits <= Math.max(2, name.length / 3) ? best.candidate : undefined
}

/** Words that name it, for the end of a message; empty if no name is near enough. */
export function meantText(name: string, known: readonly string[]): string {
  const meant = suggestionFor(name, known)
  return meant === undefined ? '' : `, did you mean ${meant}?`
}

/** Levenshtein's distance, row by row. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 0; i < from.length; i += 1) {
    const above = row
    row = [i + 1]
    for (let j = 0; j < to.length; j += 1) {
      const swap = (above[j] as number) + (from[i] === to[j] ? 0 : 1)
      row.push(Math.min(swap, (above[j + 1] as number) + 1, (row[j] as number) + 1))
    }
  }
  return row.at(-1) as number
}
