/** A long test that a landing leaves to the night, and what of the landing is nearest to it meanwhile. */
export interface Left {
  /** From the root of the workspace. */
  readonly file: string
  /** Files of tests, or stages. */
  readonly meanwhile: readonly string[]
}

const persistence = 'packages/agent-runtime-persistence/test'
const runtime = 'packages/agent-runtime/test'

/** More of the values that nobody expects. The quick tests of the same names draw some of them. */
const values: readonly Left[] = [
  'packages/agent-gym/test/fuzz/arguments',
  'packages/agent-gym/test/fuzz/library',
  'packages/agent-runtime-cli/test/fuzz/arguments',
  'packages/agent-runtime-core/test/fuzz/exports',
  `${persistence}/fuzz/options`,
  `${persistence}/fuzz/port`,
  `${persistence}/fuzz/stored`,
  'packages/agent-runtime-telemetry/test/fuzz/options',
  'packages/agent-runtime/test/fuzz/calls',
  'packages/agent-runtime/test/fuzz/handlers',
  'packages/agent-runtime/test/fuzz/test-runtime',
].map((name) => ({ file: `${name}.proof.test.ts`, meanwhile: [`${name}.test.ts`] }))

/** Tools that no user installs. A landing runs the tools themselves. */
const tools: readonly Left[] = [
  {
    file: 'packages/agent-gym/test/cost.proof.test.ts',
    meanwhile: ['packages/agent-gym/test/fuzz/arguments.test.ts'],
  },
  { file: 'tools/test/built.proof.test.ts', meanwhile: ['the long tests'] },
  { file: 'tools/test/doc-blocks.proof.test.ts', meanwhile: ['code blocks of the documentation'] },
  {
    file: 'tools/test/test-command.proof.test.ts',
    meanwhile: ['the quick tests', 'a name that no test has fails'],
  },
]

/** Two kinds at once. A landing proves each by itself. */
const pairs: readonly Left[] = [
  {
    file: `${persistence}/open/conformance-on-disk.proof.test.ts`,
    meanwhile: [
      ...['admission', 'handlers', 'leases', 'limits', 'order', 'records', 'values', 'workers'].map(
        (part) => `${persistence}/conformance/${part}.test.ts`,
      ),
      `${persistence}/model/model.proof.test.ts`,
    ],
  },
  {
    file: `${persistence}/postgres/model.proof.test.ts`,
    meanwhile: [
      `${persistence}/model/model.proof.test.ts`,
      `${persistence}/postgres/conformance.proof.test.ts`,
    ],
  },
  {
    file: `${persistence}/postgres/settings.proof.test.ts`,
    meanwhile: [
      `${persistence}/processes/settings.test.ts`,
      `${persistence}/postgres/processes.proof.test.ts`,
    ],
  },
  {
    file: 'packages/agent-runtime-cli/test/killed-workers.proof.test.ts',
    meanwhile: [
      'packages/agent-runtime-server/test/remote/cuts.proof.test.ts',
      `${persistence}/processes/processes.proof.test.ts`,
      'tools/test/examples.proof.test.ts',
    ],
  },
  {
    file: 'packages/eslint-plugin-agent-runtime/test/real-linters.proof.test.ts',
    meanwhile: ['packages/eslint-plugin-agent-runtime/test/rules.test.ts'],
  },
  {
    file: `${persistence}/postgres/rolling-upgrade.proof.test.ts`,
    meanwhile: [
      `${persistence}/care/rolling-upgrade.proof.test.ts`,
      `${persistence}/postgres/opening.proof.test.ts`,
    ],
  },
  {
    file: 'packages/agent-runtime-server/test/remote/conformance-postgres.proof.test.ts',
    meanwhile: [
      'packages/agent-runtime-server/test/remote/conformance.proof.test.ts',
      `${persistence}/postgres/conformance.proof.test.ts`,
    ],
  },
]

/** Every edit, every moment and every crash. The quick tests of the same names take some of them, and so do other long tests. */
const sweeps: readonly Left[] = [
  ...[
    `${persistence}/care/verify`,
    `${persistence}/limits/shares-fairness`,
    `${persistence}/limits/shares`,
    `${persistence}/processes/own-handles`,
    `${persistence}/processes/two-clocks`,
    `${runtime}/graph/graph`,
    `${runtime}/hostile-names`,
    `${runtime}/replay/edited`,
    `${runtime}/supervision/supervision`,
  ].map((name) => ({ file: `${name}.proof.test.ts`, meanwhile: [`${name}.test.ts`] })),
  {
    file: `${persistence}/processes/faketime.proof.test.ts`,
    meanwhile: [`${persistence}/processes/two-clocks.test.ts`],
  },
  {
    file: `${persistence}/crash/crash-at-every-commit.proof.test.ts`,
    meanwhile: [
      `${persistence}/crash/flush-of-every-kind.proof.test.ts`,
      `${persistence}/crash/killed-at-a-place.proof.test.ts`,
    ],
  },
  {
    file: `${persistence}/crash/crash-at-every-write.proof.test.ts`,
    meanwhile: [
      `${persistence}/crash/flush-of-every-kind.proof.test.ts`,
      `${persistence}/crash/killed-in-a-flush.proof.test.ts`,
    ],
  },
  {
    file: `${persistence}/care/verify-edits.proof.test.ts`,
    meanwhile: [`${persistence}/care/verify-edits.test.ts`, `${persistence}/care/verify-rules.proof.test.ts`],
  },
  {
    file: 'packages/agent-gym/test/races.proof.test.ts',
    meanwhile: [
      `${runtime}/execution/cancellation.proof.test.ts`,
      `${runtime}/durable/lost-leases.proof.test.ts`,
      `${persistence}/processes/two-stores.proof.test.ts`,
    ],
  },
]

/** Very many: kills, crowds, storms and large stores. A landing proves the same with few. */
const crowds: readonly Left[] = [
  {
    file: 'packages/agent-gym/test/kills.proof.test.ts',
    meanwhile: [
      `${persistence}/crash/killed-at-a-place.proof.test.ts`,
      `${persistence}/processes/processes.proof.test.ts`,
      `${runtime}/durable/crash.proof.test.ts`,
    ],
  },
  {
    file: 'packages/agent-gym/test/crowd.proof.test.ts',
    meanwhile: [
      `${persistence}/processes/processes.proof.test.ts`,
      `${persistence}/postgres/processes.proof.test.ts`,
    ],
  },
  {
    file: 'packages/agent-gym/test/retention.proof.test.ts',
    meanwhile: [`${persistence}/care/retention.proof.test.ts`, `${persistence}/care/retention.test.ts`],
  },
  {
    file: `${persistence}/postgres/storm.proof.test.ts`,
    meanwhile: [
      `${persistence}/postgres/faults.proof.test.ts`,
      `${persistence}/postgres/processes.proof.test.ts`,
    ],
  },
  {
    file: `${persistence}/processes/everybody-at-once.proof.test.ts`,
    meanwhile: [
      `${persistence}/processes/contention.proof.test.ts`,
      `${persistence}/care/backup.proof.test.ts`,
    ],
  },
  {
    file: `${runtime}/supervision/storm.proof.test.ts`,
    meanwhile: [`${runtime}/supervision/supervision.test.ts`],
  },
  {
    file: `${runtime}/isolation/bad-neighbours.proof.test.ts`,
    meanwhile: [`${runtime}/isolation/isolated-handlers.proof.test.ts`],
  },
  {
    file: `${runtime}/durable/waiting-memory.proof.test.ts`,
    meanwhile: [`${runtime}/durable/waits.test.ts`],
  },
  {
    file: 'packages/agent-runtime-cli/test/large-store.proof.test.ts',
    meanwhile: ['packages/agent-runtime-cli/test/looking-and-acting.test.ts'],
  },
]

/** All that a landing leaves to the night, for one of five reasons. `pnpm test:proof` runs all of it. */
export const leftToTheNight: readonly Left[] = [...values, ...tools, ...pairs, ...sweeps, ...crowds]
