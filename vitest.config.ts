import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { leftToTheNight } from './tools/ci/night.ts'
import { HeaviestFirst } from './tools/cpu/heaviest-first.ts'

const ignored = ['**/node_modules/**', '**/dist/**']
const long = '**/*.proof.test.ts'
/** Of the long tests, those that a landing does not run: tools/test.ts --landing. */
const left = process.env['TEST_TURN'] === undefined ? [] : leftToTheNight.map(({ file }) => `**/${file}`)
/** Where tests are looked for: everywhere, unless it is said. */
const dir = process.env['TEST_FOLDER'] ?? import.meta.dirname

/** Vite knows then which tests import what has changed. */
const isWatched = process.argv.includes('--watch')

export default defineConfig({
  test: {
    // Ten times what the slowest take on a machine that does nothing else; a hang should still end soon.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What a test waits for comes late on a busy machine; one second is the default.
    expect: { poll: { timeout: 50_000 } },
    sequence: { sequencer: HeaviestFirst },
    // Node loads the sources, with the code that earlier runs have compiled: Vite took a tenth of a run for it. Nothing is mocked, so no module has to be changed.
    ...(isWatched
      ? {}
      : { runner: 'tools/cpu/runner.ts', experimental: { viteModuleRunner: false, nodeLoader: false } }),
    pool: 'forks',
    // Files of one worker share the modules that they load: loading them anew for each file cost more than most files take.
    isolate: false,
    // One more than there are cores: with one a core, a quarter of each was idle, because tests wait for disks and processes.
    maxWorkers: Math.max(2, availableParallelism()) + 1,
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
          exclude: [...ignored, ...left],
          env: { TESTS: 'proof' },
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 120_000 } },
          // Four more than there are cores: these wait for processes, servers and disks more than half of their time.
          maxWorkers: Math.max(2, availableParallelism()) + 4,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
