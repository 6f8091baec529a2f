import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { goodStore } from '../helpers/good-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
/** A user whom rights stop: the one who runs the tests, or `nobody` when that is root. */
const ordinaryUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** What that user is told who opens a store. */
function openedByAnybody(path: string): string {
  const fixture = join(import.meta.dirname, '../fixtures/open-once.ts')
  const child = spawnSync(process.execPath, [fixture, path], { encoding: 'utf8', ...ordinaryUser })
  return child.stdout.trim() || child.stderr
}

/** Whether there are such rights, and such a user who may read this program. */
const hasRights = (() => {
  const script = `require('node:fs').readdirSync(${JSON.stringify(import.meta.dirname)})`
  return (
    process.platform !== 'win32' && spawnSync(process.execPath, ['-e', script], ordinaryUser).status === 0
  )
})()

describe('a store that may not be written (docs/reliability.md D06)', () => {
  test.skipIf(!hasRights)('a read-only file is store_read_only, with its path', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await goodStore(path)
    chmodSync(folder, 0o777)
    rmSync(`${path}-owners`, { recursive: true, force: true })
    chmodSync(path, 0o444)
    expect(openedByAnybody(path)).toMatch(/^refused store_read_only .*it\.db/)
  })

  test.skipIf(!hasRights)('a folder in which nothing may be made is store_read_only', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await goodStore(path)
    chmodSync(path, 0o666)
    chmodSync(folder, 0o555)
    expect(openedByAnybody(path)).toMatch(/^refused store_read_only .*it\.db/)
    chmodSync(folder, 0o755)
  })

  test.skipIf(!hasRights)('an unreadable file is store_read_only as well', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await goodStore(path)
    chmodSync(folder, 0o777)
    chmodSync(path, 0o000)
    expect(openedByAnybody(path)).toMatch(/^refused store_read_only .*it\.db/)
  })

  test.skipIf(!hasRights)('a store whose file and folder may be written opens for anybody', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await goodStore(path)
    copyFileSync(path, join(folder, 'copy.db'))
    chmodSync(folder, 0o777)
    chmodSync(join(folder, 'copy.db'), 0o666)
    expect(openedByAnybody(join(folder, 'copy.db'))).toBe('opened')
  })
})
