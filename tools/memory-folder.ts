import { chmodSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Of Linux: a file system in memory that anybody may write to. */
const inMemory = '/dev/shm'
/** Far more than quick tests have there at once. In a container it is often 64 MiB. */
const enoughBytes = 2 ** 31
/** Folders of another user cannot be removed from here, and processes of another container cannot be seen: both have another prefix. */
const prefix = `ku0-tests-${process.getuid?.() ?? 0}-${spaceOfProcesses()}-`

/**
 * A folder in memory for the temporary files of tests, which is gone with this process; undefined where there is no room for one. A store that is made there takes half the time of a processor
 * that it takes on a disk. What a killed process has written is as safe: only a power loss would tell the difference.
 */
export function memoryFolder(): string | undefined {
  let path: string
  try {
    if (statSync(inMemory, { throwIfNoEntry: false })?.isDirectory() !== true) return undefined
    removeLeft()
    const { bavail, bsize } = statfsSync(inMemory)
    // A container may take less than its machine has.
    if (Math.min(bavail * bsize, process.availableMemory()) < enoughBytes) return undefined
    path = mkdtempSync(join(inMemory, `${prefix}${process.pid}-`))
  } catch {
    // It is not writable everywhere. The tests have a disk as well.
    return undefined
  }
  // A PostgreSQL server that root starts runs as another user, who has to come to its folder.
  chmodSync(path, 0o711)
  process.once('exit', () => {
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: 3 })
    } catch {
      // A child still writes there. The next run removes the folder, and this one has not failed.
    }
  })
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

/** Names the namespace that the ids of processes are of: each container has its own. */
function spaceOfProcesses(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
  } catch {
    return '0'
  }
}
