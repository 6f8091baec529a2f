import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { HeaviestFirst } from './tools/cpu/heaviest-first.ts'

const ignored = ['**/node_modules/**', '**/dist/**']
const long = '**/*.proof.test.ts'
/** Where tests are looked for: everywhere, unless it is said. */
const dir = process.env['TEST_FOLDER'] ?? import.meta.dirname

export default defineConfig({
  test: {
    // Real processes and fsync on a slow disk take their time; a hang should still end soon.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // What a test waits for comes late on a busy machine; one second is the default.
    expect: { poll: { timeout: 25_000 } },
    sequence: { sequencer: HeaviestFirst },
    setupFiles: ['tools/cpu/meter.ts'],
    pool: 'forks',
    // Files of one worker share the modules that they load: loading them anew for each file cost more than most files take.
    isolate: false,
    // One a core, two at least: most tests wait for disks and processes (the default leaves a core of two idle).
    maxWorkers: Math.max(2, availableParallelism()),
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          dir,
          include: ['**/*.test.ts'],
          exclude: [...ignored, long],
          env: { TESTS: 'fast' },
        },
      },
      {
        extends: true,
        test: {
          name: 'proof',
          dir,
          include: [long],
          exclude: ignored,
          env: { TESTS: 'proof' },
          testTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
          // One more than there are cores: these wait for processes and disks more than the quick ones.
          maxWorkers: Math.max(2, availableParallelism()) + 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
