import { type RunnerTestCase, type RunnerTestSuite, TestRunner } from 'vitest'

/** Only the tests of a file are held: its hooks would not run, and its tests fail or notice less. */
export class HooksNotRunError extends Error {
  override readonly name = 'HooksNotRunError'
  constructor(file: string, hooks: readonly string[]) {
    super(`${file} has hooks, which are not run for each change: ${hooks.join(', ')}`)
  }
}

/** Refuses a file that has hooks, in itself or in a suite of it. */
export function refuseHooks(file: string, suite: RunnerTestSuite): void {
  const hooks = Object.entries(TestRunner.getSuiteHooks(suite)).filter(([, all]) => all.length > 0)
  if (hooks.length > 0)
    throw new HooksNotRunError(
      file,
      hooks.map(([name]) => name),
    )
  for (const task of suite.tasks) if (task.type === 'suite') refuseHooks(file, task)
}

/** Refuses a test that has left something to do when it ends. */
export function refuseFinishers(file: string, test: RunnerTestCase): void {
  const { onFinished = [], onFailed = [] } = test as {
    readonly onFinished?: readonly unknown[]
    readonly onFailed?: readonly unknown[]
  }
  if (onFinished.length + onFailed.length > 0)
    throw new HooksNotRunError(file, ['onTestFinished or onTestFailed'])
}
