import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    // Real processes and fsync on a slow disk take their time; a hang should still end soon.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
  },
})
