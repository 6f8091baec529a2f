import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'

/** The core's own tests first: they are quick, and the first that notices a change ends the run for it. */
class DirectTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isDirect = ({ moduleId }: TestSpecification) => moduleId.includes('/agent-runtime-core/')
    return [...files.filter(isDirect), ...files.filter((file) => !isDirect(file))]
  }
}

/** The tests that hold the core's rules, without those that wait for disks and processes: each mutant is met by many of them. */
export default defineConfig({
  test: {
    include: [
      'packages/agent-runtime-core/test/**/*.test.ts',
      ...(process.env['DIRECT_TESTS'] === '1'
        ? []
        : ['packages/agent-runtime-persistence/test/conformance/*.test.ts']),
    ],
    exclude: ['**/node_modules/**', '**/fuzz/**'],
    testTimeout: 30_000,
    sequence: { sequencer: DirectTestsFirst },
  },
})
