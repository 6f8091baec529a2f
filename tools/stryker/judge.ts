/** What Stryker's changed sources ask, whenever they come to a change, and where they count. */
export interface Changed {
  activeMutant?: string | undefined
  hitCount?: number | undefined
  hitLimit?: number | undefined
  currentTestId?: string | undefined
  mutantCoverage?: Coverage
}

/** How often each change was come to: while modules were loaded, and in each test. */
interface Coverage {
  readonly static: Readonly<Record<string, number>>
  readonly perTest: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** A test that was loaded, and runs as often as it is asked to. */
export interface HeldTest {
  readonly id: string
  readonly name: string
  /** One of the area's own, which come first. */
  readonly isDirect: boolean
  readonly run: () => Promise<void>
  /** What it took when it last ran. */
  ms?: number
}

/** A change, and the tests that come to it. */
export interface Change {
  readonly id: string
  readonly tests: readonly string[]
  /** A change that is come to more often turns for ever. */
  readonly hitLimit?: number | undefined
  /** No test has run in this process yet, so that nothing is left behind: a test that fails has noticed the change. */
  readonly isFresh?: true
}

export type Verdict =
  | {
      readonly status: 'killed'
      readonly killedBy: readonly string[]
      readonly failureMessage: string
      readonly nrOfTests: number
    }
  | { readonly status: 'survived'; readonly nrOfTests: number }
  | { readonly status: 'timeout' }
  /** The test fails without the change, too: an earlier one has left something behind. */
  | { readonly status: 'spoilt'; readonly test: string }

/** Runs each test without a change, and says what it comes to. */
export async function runAll(
  tests: readonly HeldTest[],
  changed: Changed,
  now: () => number,
): Promise<
  readonly { readonly id: string; readonly name: string; readonly ms: number; readonly why?: string }[]
> {
  const results = []
  for (const test of tests) {
    const { id, name } = test
    changed.currentTestId = id
    const start = now()
    const why = await failureOf(test)
    test.ms = now() - start
    results.push({ id, name, ms: test.ms, ...(why === undefined ? {} : { why }) })
  }
  changed.currentTestId = undefined
  return results
}

/** Makes a change and runs its tests, the area's own and the quick ones first, until one fails. One that fails has to pass without the change. */
export async function judge(
  { id, tests: wanted, hitLimit, isFresh }: Change,
  tests: ReadonlyMap<string, HeldTest>,
  changed: Changed,
): Promise<Verdict> {
  const inOrder = wanted
    .flatMap((it) => tests.get(it) ?? [])
    .toSorted((a, b) => Number(b.isDirect) - Number(a.isDirect) || (a.ms ?? 0) - (b.ms ?? 0))
  const limit = hitLimit ?? Number.POSITIVE_INFINITY
  changed.hitCount = 0
  changed.hitLimit = limit
  let count = 0
  for (const test of inOrder) {
    count += 1
    changed.activeMutant = id
    const why = await failureOf(test)
    changed.activeMutant = undefined
    if (changed.hitCount > limit) return { status: 'timeout' }
    if (why === undefined) continue
    if (isFresh !== true && (await failureOf(test)) !== undefined)
      return { status: 'spoilt', test: test.name }
    return { status: 'killed', killedBy: [test.id], failureMessage: why, nrOfTests: count }
  }
  return { status: 'survived', nrOfTests: count }
}

async function failureOf(test: HeldTest): Promise<string | undefined> {
  try {
    await test.run()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
