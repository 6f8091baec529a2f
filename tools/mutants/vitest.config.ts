import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Each run has a process of its own: one kept from another run would hold the modules of that. */
export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    maxWorkers: 1,
    isolate: true,
    // One test that fails is enough.
    bail: 1,
    // Node takes the compiled code of earlier runs for all but the source with the fault.
    runner: 'tools/cpu/runner.ts',
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: ['--import', pathToFileURL(resolve(import.meta.dirname, 'plant.ts')).href],
    reporters: [{}],
  },
})
