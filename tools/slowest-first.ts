import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that take long, the slowest first: one that began last would be waited for alone. Vitest itself goes by the last run, which
 * a fresh clone has not had, and then by size, which says little: the store's suite is a file of a few lines.
 */
export const slow: readonly string[] = [
  'packages/agent-runtime-persistence/test/everybody-at-once.test.ts',
  'packages/agent-runtime-persistence/test/model.test.ts',
  'packages/agent-runtime-persistence/test/conformance-on-disk.test.ts',
  'packages/agent-runtime-persistence/test/conformance.test.ts',
  'packages/agent-runtime-persistence/test/flush-of-every-kind.test.ts',
  'packages/agent-runtime-persistence/test/processes.test.ts',
  'packages/agent-runtime/test/durable/programs.test.ts',
  'tools/test/examples.test.ts',
  'packages/agent-gym/test/gym.test.ts',
  'packages/agent-gym/test/cost.test.ts',
  'packages/agent-runtime/test/durable/crash.test.ts',
  'packages/agent-runtime/test/execution/signals.test.ts',
  'tools/test/examples-crash.test.ts',
  'packages/agent-runtime-persistence/test/contention.test.ts',
  'packages/agent-runtime-persistence/test/crash-at-every-commit.test.ts',
  'packages/agent-runtime/test/scheduling/schedules.test.ts',
]

/** Starts the files that are known to be slow before all others. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = slow.indexOf(relative(this.ctx.config.root, moduleId).replaceAll('\\', '/'))
      return place === -1 ? slow.length : place
    }
    // oxlint-disable-next-line unicorn/no-array-sort -- not an array's
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
