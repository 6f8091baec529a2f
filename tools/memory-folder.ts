import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { freemem } from 'node:os'
import { join } from 'node:path'

/** Of Linux: a file system in memory that anybody may write to. */
const inMemory = '/dev/shm'
/** Far more than quick tests have there at once. In a container it is often 64 MiB. */
const enoughBytes = 2 ** 31
const prefix = 'ku0-tests-'

/**
 * A folder in memory for the temporary files of tests, which is gone with this process; undefined where there is no room for one. A store that is made there takes half the time of a processor
 * that it takes on a disk. What a killed process has written is as safe: only a power loss would tell the difference.
 */
export function memoryFolder(): string | undefined {
  if (statSync(inMemory, { throwIfNoEntry: false })?.isDirectory() !== true) return undefined
  removeLeft()
  const { bavail, bsize } = statfsSync(inMemory)
  if (Math.min(bavail * bsize, freemem()) < enoughBytes) return undefined
  const path = mkdtempSync(join(inMemory, `${prefix}${process.pid}-`))
  // A PostgreSQL server that root starts runs as another user, who has to come to its folder.
  chmodSync(path, 0o711)
  process.once('exit', () => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A run that was killed leaves its folder. */
function removeLeft(): void {
  for (const name of readdirSync(inMemory).filter((it) => it.startsWith(prefix))) {
    const [pid] = name.slice(prefix.length).split('-')
    if (statSync(`/proc/${pid}`, { throwIfNoEntry: false }) === undefined)
      rmSync(join(inMemory, name), { recursive: true, force: true })
  }
}
