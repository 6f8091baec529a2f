import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { folder } from '../real-processes.ts'

test('F07 a process without a file descriptor left goes on with its store; what needs one fails by itself, until there are some', () => {
  const program = fileURLToPath(new URL('../processes/crowded.ts', import.meta.url))
  const args = [process.execPath, program, join(folder(), 'store.db')]
  const { stdout, stderr, status } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$0" "$@"', ...args], {
    encoding: 'utf8',
  })
  expect([stderr, status]).toEqual(['', 0])
  expect(stdout.split('\n')).toEqual([
    "some taken: EMFILE: too many open files, open '/dev/null'",
    'full: 42, spawn true EMFILE, Worker initialization failure: EMFILE',
    'free: 42, 0, opened',
    '',
  ])
})
