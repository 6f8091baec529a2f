import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { goodStore } from '../helpers/good-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
/** A user whom rights stop: the one who runs the tests, or `nobody` when that is root. */
const ordinaryUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** What that user is told who opens stores, one after another: one process for all, because starting it takes most of the time. */
function openedByAnybody(paths: readonly string[]): readonly string[] {
  const fixture = join(import.meta.dirname, '../fixtures/open-once.ts')
  const child = spawnSync(process.execPath, [fixture, ...paths], { encoding: 'utf8', ...ordinaryUser })
  return (child.stdout.trim() || child.stderr).split('\n')
}

/** Whether there are such rights, and such a user who may read this program. */
const hasRights = (() => {
  const script = `require('node:fs').readdirSync(${JSON.stringify(import.meta.dirname)})`
  return (
    process.platform !== 'win32' && spawnSync(process.execPath, ['-e', script], ordinaryUser).status === 0
  )
})()

/** Stores of which each may be touched in another way, by what is wrong with them. */
const stores: Readonly<Record<string, (path: string, folder: string) => void>> = {
  'a read-only file': (path, folder) => {
    chmodSync(folder, 0o777)
    rmSync(`${path}-owners`, { recursive: true, force: true })
    chmodSync(path, 0o444)
  },
  'a folder in which nothing may be made': (path, folder) => {
    chmodSync(path, 0o666)
    chmodSync(folder, 0o555)
  },
  'an unreadable file': (path, folder) => {
    chmodSync(folder, 0o777)
    chmodSync(path, 0o000)
  },
  'a store whose file and folder may be written': (path, folder) => {
    // A copy has no folder of locks, which would be its owner's alone.
    rmSync(`${path}-owners`, { recursive: true, force: true })
    rmSync(`${path}-anchor`, { force: true })
    chmodSync(folder, 0o777)
    chmodSync(path, 0o666)
  },
}

test.skipIf(!hasRights)(
  'D06 a store that may not be written is store_read_only, with its path; one that may be written opens for anybody',
  async () => {
    const paths: string[] = []
    for (const forbid of Object.values(stores)) {
      const folder = scratchFolder()
      const path = join(folder, 'it.db')
      await goodStore(path)
      forbid(path, folder)
      onTestFinished(() => chmodSync(folder, 0o755))
      paths.push(path)
    }
    const said = openedByAnybody(paths)
    expect(Object.keys(stores).map((what, at) => [what, said[at]])).toEqual([
      ['a read-only file', expect.stringMatching(/^refused store_read_only .*it\.db/)],
      ['a folder in which nothing may be made', expect.stringMatching(/^refused store_read_only .*it\.db/)],
      ['an unreadable file', expect.stringMatching(/^refused store_read_only .*it\.db/)],
      ['a store whose file and folder may be written', 'opened'],
    ])
  },
)
