import { suggestionFor } from '@ku0/agent-runtime-core'

/** `; did you mean "easy"?`, or nothing but a full stop. */
export function didYouMean(given: string, known: readonly string[]): string {
  const name =
    suggestionFor(given, known) ?? known.find((other) => given.length > 2 && other.startsWith(given))
  return name === undefined ? '.' : `; did you mean "${name}"?`
}
