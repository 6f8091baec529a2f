import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where a test keeps its data: in memory, or in a folder per process of the test. */
export interface DataFolder {
  /** The store of the process that runs now. */
  readonly url: string
  readonly canCrash: boolean
  /** Copies the files: the next process finds what is committed at this moment. */
  leaveBehind(): void
  remove(): void
}

export function inMemory(): DataFolder {
  return { url: 'sqlite::memory:', canCrash: false, leaveBehind() {}, remove() {} }
}

/**
 * A copy of the files is what a stopped machine would leave: it has the log, and no locks. The dead process
 * may keep running on its own files, and nothing that it does is seen.
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
