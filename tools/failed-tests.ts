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

/** Each test that failed, and each file that failed outside of its tests. */
export function failedOf(modules: readonly TestModule[]): FailedTest[] {
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
 * The files to run once more, alone. None where more than eight failed: then it is not the load of the machine. None where an error stood
 * outside of any file, either: nothing says what to run.
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
