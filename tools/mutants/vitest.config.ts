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
    // A module kept from another run would be without the fault, or with another's.
    fsModuleCache: false,
    reporters: [{}],
  },
})
