import { inspect, isDeepStrictEqual } from 'node:util'
import {
  assertFields,
  assertIsOptions,
  describeError,
  functionRule,
  problemsIn,
  type Rules,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import { differenceOf, type Outcome, outcomesOf, withoutRepeats } from './outcome.ts'
import { RunningTest } from './running-test.ts'
import type { TestRuntime, TestRuntimeOptions } from './test-runtime.ts'

/** Options of {@link sweepCrashes}, besides those of its runtimes. */
export interface CrashSweep<Result> extends Omit<TestRuntimeOptions, 'crashes' | 'crashAfterCommit'> {
  /**
   * The client's part of the test: it submits, signals and waits. It does not crash: a call that the crash
   * interrupts is answered by the next process, so it never has to repeat one. Its result is compared between
   * the runs. It is called once per run.
   */
  readonly script: (test: TestRuntime) => Promise<Result> | Result
  /**
   * Checks a run that has ended, beginning with the one without a crash. If it throws, that run has failed.
   */
  readonly check?: ((test: TestRuntime, result: Result) => Promise<void> | void) | undefined
  /** The first commit to crash after, from 1; 1 by default. */
  readonly from?: number | undefined
  /** The last commit to crash after; by default the last one of the run without a crash. */
  readonly to?: number | undefined
  /** Crash after every n-th commit; 1 by default. */
  readonly every?: number | undefined
}

/** The result of a sweep. */
export interface CrashSweepReport {
  /** Number of commits of the run without a crash. */
  readonly commits: number
  /** The commits after which a run was crashed. */
  readonly crashedAfter: readonly number[]
}

/**
 * Runs a script once without a crash. Then, for each commit of that run, it runs the script again, crashes
 * the process right after that commit and restarts it. Every run must end in the same way: the script's
 * result, and the state and output or error of every task. A child that is refused again for the same reason
 * after a crash counts once. No function of a step may run again after its result was recorded. Throws {@link
 * CrashSweepFailed} at the first commit for which this does not hold.
 *
 * A function that is running at a crash runs again, so its effects outside must tolerate that. Variables of
 * handlers should not outlive a run.
 */
export async function sweepCrashes<Result>(sweep: CrashSweep<Result>): Promise<CrashSweepReport> {
  assertIsOptions('sweepCrashes', sweep, { tasks: functionRule, ...rules })
  const { script, check, from = 1, to = Number.POSITIVE_INFINITY, every = 1, ...options } = sweep
  const own = { script, check, from: sweep.from, to: sweep.to, every: sweep.every }
  assertFields(problemsIn(own, rules, { path: 'sweepCrashes option ', required: ['script'] }))
  const expected = await play({ options, script, check, commit: undefined, expected: undefined })
  const last = Math.min(to, expected.commits)
  const crashedAfter: number[] = []
  for (let commit = from; commit <= last; commit += every) {
    await play({ options, script, check, commit, expected })
    crashedAfter.push(commit)
  }
  return { commits: expected.commits, crashedAfter }
}

/** A run that ended differently from the one without a crash, or whose check threw. */
export class CrashSweepFailed extends Error {
  static {
    this.prototype.name = 'CrashSweepFailed'
  }

  /** The commit after which the run was crashed; undefined for the run without a crash. */
  readonly commit: number | undefined

  constructor(commit: number | undefined, why: string, histories: readonly string[], options?: ErrorOptions) {
    const when = commit === undefined ? 'without a crash' : `crashed after commit ${commit}`
    super([`${when}: ${why}`, ...histories].join('\n\n'), options)
    this.commit = commit
  }
}

interface Played<Result> {
  readonly result: Result
  readonly outcomes: readonly Outcome[]
  readonly commits: number
}

async function play<Result>(run: {
  readonly options: TestRuntimeOptions
  readonly script: CrashSweep<Result>['script']
  readonly check: CrashSweep<Result>['check']
  readonly commit: number | undefined
  readonly expected: Played<Result> | undefined
}): Promise<Played<Result>> {
  const { commit, expected } = run
  const crash = commit === undefined ? {} : { crashAfterCommit: commit }
  await using test = await RunningTest.start({ ...run.options, ...crash }, true)
  const fail = async (why: string, options?: ErrorOptions) =>
    new CrashSweepFailed(commit, why, await historiesOf(test), options)
  const attempted = async <T>(what: string, act: () => Promise<T> | T): Promise<T> => {
    try {
      return await act()
    } catch (error) {
      throw await fail(`the ${what} threw ${firstLine(error)}`, { cause: error })
    }
  }
  const result = await attempted('script', () => run.script(test))
  await test.settle()
  const outcomes = withoutRepeats(await outcomesOf(test), test.refusedChildren)
  const played = { result, outcomes, commits: test.commits }
  const [rerun] = test.ledger.reruns
  if (rerun !== undefined)
    throw await fail(
      `the function of step '${rerun.key}' of task ${rerun.taskId} ran again after its result was recorded`,
    )
  if (expected !== undefined) {
    const difference = isDeepStrictEqual(result, expected.result)
      ? differenceOf(played.outcomes, expected.outcomes)
      : `the script returned ${inspect(result)} instead of ${inspect(expected.result)}`
    if (difference !== undefined) throw await fail(difference)
  }
  await attempted('check', () => run.check?.(test, result))
  return played
}

async function historiesOf(test: RunningTest): Promise<string[]> {
  const outcomes = await outcomesOf(test)
  const histories = outcomes
    .slice(0, MAX_HISTORIES)
    .map(async ({ taskId }) => (await test.history(taskId)).toString())
  return Promise.all(histories)
}

/** The error's cause has the rest. */
function firstLine(error: unknown): string {
  const { name, message } = describeError(error)
  return `${name}: ${message.split('\n', 1)[0] ?? ''}`
}

/** The most histories that a message shows. */
const MAX_HISTORIES = 5

const place = wholeNumber(1, Number.MAX_SAFE_INTEGER)
const rules: Rules<Pick<CrashSweep<unknown>, 'script' | 'check' | 'from' | 'to' | 'every'>> = {
  script: functionRule,
  check: functionRule,
  from: place,
  to: place,
  every: place,
}
