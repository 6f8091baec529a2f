/** Whether the long tests run (`pnpm test:proof`), and not the quick ones. */
export const isProof: boolean = process.env['TESTS'] === 'proof'

/** How much a test draws or plays: a little among the quick tests, all of it among the long ones. */
export function draws<T>(quick: T, proof: T): T {
  return isProof ? proof : quick
}

/** One of each `nth` entries of a list; `from` says which one. */
export function everyNth<T>(list: readonly T[], nth: number, from = 0): readonly T[] {
  return list.filter((_, index) => index % nth === from % nth)
}
