/** Whether the long tests run (`pnpm test:proof`), and not the quick ones. */
const isProof: boolean = process.env['TESTS'] === 'proof'

/** Whether they run whole (`pnpm test:proof --whole`), as each night, and not only what each landing waits for. */
export const isWhole: boolean = isProof && process.env['WHOLE_PROOF'] === '1'

/** How much a test draws or plays: a little among the quick tests, more among the long ones, and all of it where those run whole. */
export function draws<T>(quick: T, proof: T, whole: T = proof): T {
  if (isWhole) return whole
  return isProof ? proof : quick
}

/** One of each `nth` entries of a list; `from` says which one. */
export function everyNth<T>(list: readonly T[], nth: number, from = 0): readonly T[] {
  return list.filter((_, index) => index % nth === from % nth)
}
