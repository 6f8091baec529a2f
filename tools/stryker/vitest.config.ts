import path from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'
import { areaOf, areas } from './areas.ts'

const area = areaOf(process.env['STRYKER_AREA'] ?? 'core') ?? areas.core
const root = path.resolve(import.meta.dirname, '../..')

/** The area's own tests first: they are quick, and the first that notices a change ends the run for it. */
class DirectTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isDirect = ({ moduleId }: TestSpecification) =>
      area.direct.some((pattern) => path.matchesGlob(path.relative(root, moduleId), pattern))
    return [...files.filter(isDirect), ...files.filter((file) => !isDirect(file))]
  }
}

/** The tests that hold the area's rules, without those that wait for disks and processes: each change is met by many of them. */
export default defineConfig({
  test: {
    include: [...area.direct, ...(process.env['DIRECT_TESTS'] === '1' ? [] : area.others)],
    exclude: ['**/node_modules/**', '**/*.proof.test.ts', ...area.slow],
    // Changed sources count whenever they are come to, so that a test of a million turns takes long. Stryker ends a change whose tests do not end.
    testTimeout: area.isPure ? 600_000 : 30_000,
    sequence: { sequencer: DirectTestsFirst },
    // Modules that are loaded anew for each file cost more than most of the files.
    isolate: false,
    ...(area.isPure
      ? {
          runner: path.join(import.meta.dirname, 'holding-runner.ts'),
          experimental: { viteModuleRunner: false, nodeLoader: false },
        }
      : {}),
  },
})
