// Runs the long tests of a store on PostgreSQL 15, the oldest that it supports. The first run installs that, 60 MB, into this folder.
//
//   node tools/postgres-15/test.ts [OPTION OR FILE...]
//
// Takes the options of tools/test.ts. Without a file it runs all tests of the folder `test/postgres` of agent-runtime-persistence.
import { execFileSync, spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'

const here = import.meta.dirname
const workspace = resolve(here, '../..')

execFileSync('npx', ['-y', 'pnpm@12.21.0', 'install', '--frozen-lockfile'], {
  cwd: here,
  stdio: ['ignore', 'ignore', 'inherit'],
})
const given = process.argv.slice(2).filter((arg) => arg !== '--')
const files = given.some((arg) => arg.endsWith('.ts'))
  ? []
  : ['packages/agent-runtime-persistence/test/postgres']
const { status } = spawnSync(
  process.execPath,
  [join(workspace, 'tools/test.ts'), '--proof', ...files, ...given],
  {
    cwd: workspace,
    stdio: 'inherit',
    env: { ...process.env, KU0_TEST_POSTGRES_RELEASE: '15' },
  },
)
process.exitCode = status ?? 1
