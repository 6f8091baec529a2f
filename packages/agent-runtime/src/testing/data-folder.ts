import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where the data of a test is: in memory, or in a folder for each process of the test. */
export interface DataFolder {
  /** The store of the process that runs now. */
  readonly url: string
  readonly canCrash: boolean
  /** What is committed at this moment is what the next process finds. */
  leaveBehind(): void
  remove(): void
}

export function inMemory(): DataFolder {
  return { url: 'sqlite::memory:', canCrash: false, leaveBehind() {}, remove() {} }
}

/**
 * A copy of the files is what a machine that stops would leave: the log is in it, the locks are not. So the dead process may run on
 * on its own files, and nothing that it does is seen.
 */
export function onDisk(): DataFolder {
  const home = mkdtempSync(join(tmpdir(), 'ku0-test-'))
  let number = 1
  const folderOf = (process: number) => join(home, String(process))
  mkdirSync(folderOf(number))
  return {
    get url() {
      return `sqlite:${join(folderOf(number), 'store.db')}`
    },
    canCrash: true,
    leaveBehind() {
      cpSync(folderOf(number), folderOf(number + 1), { recursive: true })
      number += 1
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}
