import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder, and what is missing above it. Each by itself, from the first one that is there: where the kernel lets nobody make
 * a folder and says that there is none (below /proc), mkdir's own `recursive` goes round for ever.
 */
export function makeFolder(folder: string): void {
  const there = statSync(folder, { throwIfNoEntry: false })
  if (there?.isDirectory() === true) return
  if (there !== undefined) throw new Error(`${folder} is a file, not a folder`)
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder)
  } catch (error) {
    // Somebody else may have made it in the meantime.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}
