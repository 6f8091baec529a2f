import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratchFolder } from './scratch-folder.ts'

/** The rights that a process gives, which leaves all of them to everybody unless its umask says otherwise. */
function rightsOf(path: string, umask = '0'): string[] {
  const program = join(import.meta.dirname, 'fixtures/file-rights.ts')
  const { stdout, stderr } = spawnSync(
    'sh',
    ['-c', `umask ${umask}; exec "$0" "$@"`, process.execPath, program, path],
    {
      encoding: 'utf8',
    },
  )
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

test('X11 a new store is its owner’s alone, whatever the umask: the file, its log, and the folder of locks', () => {
  expect(rightsOf(join(scratchFolder(), 'it.db'))).toEqual([
    'it.db 600',
    'it.db-anchor 600',
    'it.db-owners 700',
    'it.db-shm 600',
    'it.db-wal 600',
    'lock 600',
  ])
})

test('X11 a file that is there keeps the rights it has', () => {
  const path = join(scratchFolder(), 'it.db')
  writeFileSync(path, '')
  chmodSync(path, 0o640)
  expect(rightsOf(path)).toEqual([
    'it.db 640',
    'it.db-anchor 640',
    'it.db-owners 750',
    'it.db-shm 640',
    'it.db-wal 640',
    'lock 640',
  ])
})

test('X11 whoever may write a file that is there may write all beside it, whatever the umask', () => {
  const path = join(scratchFolder(), 'it.db')
  writeFileSync(path, '')
  chmodSync(path, 0o664)
  const expected = [
    'it.db 664',
    'it.db-anchor 664',
    'it.db-owners 775',
    'it.db-shm 664',
    'it.db-wal 664',
    'lock 664',
  ]
  expect(rightsOf(path, '077')).toEqual(expected)
})
