import { existsSync, renameSync, rmSync } from 'node:fs'

/** Makes a folder that is whole or not there. A run that was ended leaves only an unfinished one, which the next run makes anew. */
export function wholeFolder(folder: string, make: (unfinished: string) => void): void {
  if (existsSync(folder)) return
  const unfinished = `${folder}.new`
  rmSync(unfinished, { recursive: true, force: true })
  make(unfinished)
  renameSync(unfinished, folder)
}
