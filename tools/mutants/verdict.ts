/** What the tests of a rule say about a planted fault. `broken`: the source with it does not run, which any test notices and no rule is needed for. */
export type Verdict = 'noticed' | 'unnoticed' | 'broken'

/** A mutant that was not killed, or whose kill proves nothing. */
export interface Missed {
  readonly name: string
  readonly why: string
  /** Nothing is known about it: its process ended before. */
  readonly isLost?: boolean
}

/** A file of tests that has run. */
export interface RunFile {
  /** What failed outside of its tests. */
  readonly errors: readonly TestError[]
  readonly tests: readonly RunTest[]
}

interface RunTest {
  /** With the names of the groups around it. */
  readonly fullName: string
  readonly state: string
  readonly errors: readonly TestError[]
}

/** As Vitest reports it. */
interface TestError {
  readonly name?: string | undefined
  readonly message: string
  readonly cause?: unknown
}

/** Only a test counts that failed for what the source did, and whose name has the rule that the fault breaks. */
export function verdictOf(files: readonly RunFile[], rule: RegExp): Verdict {
  const failed = files
    .flatMap(({ tests }) => tests)
    .filter(({ state, fullName }) => state === 'failed' && isNamed(rule, fullName))
  if (failed.some(({ errors }) => !errors.some(isOfNoProgram))) return 'noticed'
  return failed.length > 0 || files.some(({ errors }) => errors.length > 0) ? 'broken' : 'unnoticed'
}

/**
 * Whether each test that failed did so because its time was over. A fault may make a test wait for ever, and a slow machine may do so alone.
 */
export function isByTimeAlone(files: readonly RunFile[], rule: RegExp): boolean {
  const failed = files
    .flatMap(({ tests }) => tests)
    .filter(({ state, fullName }) => state === 'failed' && isNamed(rule, fullName))
  return failed.length > 0 && failed.every(({ errors }) => errors.length > 0 && errors.every(isOfTime))
}

/** Vitest's own errors of a test, of a hook and of `expect.poll`. */
function isOfTime({ message, cause }: TestError): boolean {
  return (
    /^(?:Test|Hook) timed out in /.test(message) ||
    (isError(cause) && cause.message === 'Matcher did not succeed in time.')
  )
}

/** Vitest asks for a test by its names with a space between them, and shows them with an arrow. */
function isNamed(rule: RegExp, fullName: string): boolean {
  return rule.test(fullName) || rule.test(fullName.replaceAll(' > ', ' '))
}

/**
 * An error of a program that names what is not there. A store, or a handler, may have made it the cause of its own. A file that cannot be read at all has no
 * tests; a `SyntaxError` within one may be of JSON that the fault has spoiled.
 */
function isOfNoProgram({ name, message, cause }: TestError): boolean {
  if (name === 'ReferenceError' || nowhere.test(message)) return true
  return isError(cause) && isOfNoProgram(cause)
}

const nowhere = /\bReferenceError: |^Cannot find (?:module|package) /

function isError(value: unknown): value is TestError {
  return (
    typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string'
  )
}
