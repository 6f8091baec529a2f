// Records anew what the tests of the stores ask, load and write (packages/agent-runtime-persistence/test/conformance/transcripts) and what functions of
// the core answer to drawn data (packages/agent-runtime-core/test/drawn/answers.txt), and shows what has changed since the last commit.
//
//   node tools/transcripts.ts [--whole FOLDER]
//
// --whole FOLDER: writes them there with all values instead of digests, and changes nothing. Two of them, of before and after a change of the code,
// show which values are others: diff -r BEFORE AFTER.
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

const workspace = resolve(import.meta.dirname, '..')
const tests = [
  'packages/agent-runtime-persistence/test/conformance',
  'packages/agent-runtime-core/test/drawn',
]
const { values: flags } = parseArgs({ options: { whole: { type: 'string' } } })
const folder = flags.whole === undefined ? undefined : resolve(flags.whole)

run(process.execPath, 'tools/test.ts', ...tests)
if (folder === undefined) {
  run(
    'git',
    '--no-pager',
    'diff',
    '--stat',
    '--patch',
    '--unified=1',
    '--',
    ...tests.map((it) => `${it}/**.txt`),
  )
}

function run(command: string, ...args: readonly string[]): void {
  const { status } = spawnSync(command, args, {
    cwd: workspace,
    env: { ...process.env, RECORD: folder ?? '1' },
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(status ?? 1)
}
