import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { SlowestFirst } from './tools/slowest-first.ts'

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    // Real processes and fsync on a slow disk take their time; a hang should still end soon.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    sequence: { sequencer: SlowestFirst },
    pool: 'forks',
    // One a core, two at least: most tests wait for disks and processes (the default leaves a core of two idle).
    maxWorkers: Math.max(2, availableParallelism()),
  },
})
