import { relative, resolve } from 'node:path'
import type { TestModule } from 'vitest/node'

const workspace = resolve(import.meta.dirname, '..')

export interface FailedTest {
  /** From the root of the workspace. */
  readonly file: string
  /** With the names of the groups around it; empty for a file that could not be loaded. */
  readonly name: string
  /** The first line of its first error. */
  readonly why: string
}

/** An error that no test awaited, as Vitest tells it. */
export interface Stray {
  readonly message: string
  /** The file that ran then. */
  readonly VITEST_TEST_PATH?: string | undefined
}

/**
 * Each test that failed, and each file that failed outside of its tests. A test that fails may leave errors that nobody awaits any more: they come
 * with its file. Errors beside no failed test are of no file.
 */
export function failedOf(modules: readonly TestModule[], strays: readonly Stray[] = []): FailedTest[] {
  const failed = failedIn(modules)
  const files = new Set(failed.map(({ file }) => file))
  const left = strays.flatMap((stray) => {
    const file = stray.VITEST_TEST_PATH === undefined ? '' : relative(workspace, stray.VITEST_TEST_PATH)
    return files.has(file) ? [{ file, name: '', why: firstLine([stray]) }] : []
  })
  return [...failed, ...left]
}

function failedIn(modules: readonly TestModule[]): FailedTest[] {
  return modules.flatMap((module) => {
    const file = relative(workspace, module.moduleId)
    const tests = [...module.children.allTests()].flatMap((test) => {
      const { state, errors } = test.result()
      return state === 'failed' ? [{ file, name: test.fullName, why: firstLine(errors) }] : []
    })
    if (tests.length > 0 || module.ok()) return tests
    return [{ file, name: '', why: firstLine(module.errors()) }]
  })
}

/**
 * The files to run once more, alone. None where more than eight failed: then it is not the load of the machine. None where an error came
 * beside no failed test, either: nothing says what to run.
 */
export function filesToRepeat(failed: readonly FailedTest[], failures: number): readonly string[] {
  const files = [...new Set(failed.map(({ file }) => file))]
  return files.length <= 8 && failed.length === failures ? files : []
}

/** A line for each. */
export function showFailed(failed: readonly FailedTest[]): string {
  return failed
    .map(({ file, name, why }) => `  ${[file, name].filter((part) => part !== '').join(' > ')}: ${why}`)
    .join('\n')
}

function firstLine(errors: readonly { readonly message: string }[] | undefined): string {
  return errors?.[0]?.message.split('\n', 1)[0] ?? 'it says no error'
}
