/** Stryker's changed sources ask it whenever they come to a change, and count in it. */
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
  /** So long it took when it last ran. */
  ms?: number
}

/** A change, and the tests that come to it. */
export interface Change {
  readonly id: string
  readonly tests: readonly string[]
  /** A change that is come to more often turns for ever. */
  readonly hitLimit?: number | undefined
}

/** A verdict on a change that counts. */
type Counted =
  | Failed<'killed'>
  | { readonly status: 'survived'; readonly nrOfTests: number }
  | { readonly status: 'timeout' }

/** `spoilt`: the test fails without the change, too. The change or an earlier one has left something behind, or the test always fails. */
export type Verdict = Counted | Failed<'spoilt'>

interface Failed<Status extends string> {
  readonly status: Status
  readonly killedBy: readonly [string]
  readonly failureMessage: string
  readonly nrOfTests: number
}

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
  { id, tests: wanted, hitLimit }: Change,
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
    const status = (await failureOf(test)) === undefined ? 'killed' : 'spoilt'
    return { status, killedBy: [test.id], failureMessage: why, nrOfTests: count }
  }
  return { status: 'survived', nrOfTests: count }
}

/** The process that holds the tests. */
export interface Holder {
  readonly judge: (change: Change) => Promise<Verdict>
  /** Loads all tests anew and runs that one without a change: why it fails, or undefined. */
  readonly failureAnew: (test: string) => Promise<string | undefined>
}

/**
 * The verdict on a change that counts. `isFresh`: no test has run in the process before. One that is not is given up where a test is spoilt:
 * Stryker starts another, outside of the limit of a change, and asks again. In a fresh one the change itself has left something behind,
 * unless the test fails without it in yet another.
 */
export async function decide(change: Change, isFresh: boolean, holder: Holder): Promise<Counted> {
  const verdict = await holder.judge(change)
  if (verdict.status !== 'spoilt') return verdict
  const [test] = verdict.killedBy
  if (!isFresh) throw new Error(`the test ${test} fails without the change, too: its process is spoilt`)
  const why = await holder.failureAnew(test)
  if (why !== undefined) throw new Error(`the test ${test} fails when nothing is changed: ${why}`)
  return { ...verdict, status: 'killed' }
}

/** Why a test fails; undefined where it passes. */
export async function failureOf(test: HeldTest): Promise<string | undefined> {
  try {
    await test.run()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
