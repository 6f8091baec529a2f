import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { canTrace, traced } from '../helpers/strace.ts'

describe('a file system that is no local disk (docs/reliability.md D09)', () => {
  test.skipIf(!canTrace)('D09 one without shared memory is refused, with what to do', () => {
    const path = join(scratchFolder(), 'it.db')
    const fixture = join(import.meta.dirname, '../fixtures/open-once.ts')
    const inject = ['-P', `${path}-shm`, '-e', 'inject=mmap:error=ENODEV']
    expect(traced(['-o', '/dev/null', ...inject], fixture, path)).toMatch(
      /^refused store_not_durable .*it\.db: the file system does not support shared memory.*; use a local disk/,
    )
  })
})

describe('a disk that is full when a store is opened (docs/reliability.md D03)', () => {
  test.skipIf(!canTrace)(
    'D03 no room for the file beside the database is store_full, with what to do',
    () => {
      const path = join(scratchFolder(), 'it.db')
      const fixture = join(import.meta.dirname, '../fixtures/open-once.ts')
      const inject = ['-P', `${path}-shm`, '-e', 'inject=pwrite64:error=ENOSPC']
      expect(traced(['-o', '/dev/null', ...inject], fixture, path)).toMatch(
        /^refused store_full .*it\.db: there is no room for its -shm file.*; free space, then try again/,
      )
    },
  )
})
