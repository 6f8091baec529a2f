/**
 * The packages whose code becomes part of the bundles, and which no user installs with ours. A package is here if it keeps no state that a program has to share,
 * runs no code of a platform, and is much larger than the part that is used. Why: `docs/decisions/0027-bundles.md`.
 */
const inlined: ReadonlySet<string> = new Set(['zod'])

export function isInlined(name: string): boolean {
  return inlined.has(name)
}
