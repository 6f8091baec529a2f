import { defineConfig } from 'vitest/config'

/** The tests that hold the core's rules, without those that wait for disks and processes: each mutant is met by many of them. */
export default defineConfig({
  test: {
    include: [
      'packages/agent-runtime-core/test/**/*.test.ts',
      'packages/agent-runtime-persistence/test/conformance.test.ts',
    ],
    exclude: ['**/node_modules/**', '**/fuzz/**'],
    testTimeout: 30_000,
  },
})
