import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A file system of the running test's own, so small that the test can really fill it. */
export interface SmallDisk {
  readonly folder: string
  /** Fills it with a file, until so many blocks are free: none by default. */
  fill(freeBlocks?: number): void
  /** Takes the file away again. */
  makeRoom(): void
}

/**
 * Whether a file system can be mounted here: root may on Linux, unless a container forbids it. Anybody else may under
 * `unshare --map-root-user --mount`.
 */
export const canMount = (() => {
  const folder = mkdtempSync(join(tmpdir(), 'mount-'))
  const mounted = mount(folder, 1)
  if (mounted) unmount(folder)
  rmdirSync(folder)
  return mounted
})()

/** Mounts a file system of so many MiB. It is gone when the test has ended, whatever is still open on it. */
export function smallDisk(mebibytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'disk-'))
  if (!mount(folder, mebibytes)) throw new Error(`no file system can be mounted at ${folder}`)
  const leave = () => {
    unmount(folder)
    rmdirSync(folder)
  }
  // Whatever is cleaned up before it may take too long.
  process.once('exit', leave)
  onTestFinished(() => {
    process.off('exit', leave)
    leave()
  })
  const filler = join(folder, 'filler')
  return {
    folder,
    fill(freeBlocks = 0) {
      const { bsize } = statfsSync(folder)
      const file = openSync(filler, 'a')
      try {
        while (statfsSync(folder).bavail > freeBlocks) writeSync(file, Buffer.alloc(bsize))
      } finally {
        closeSync(file)
      }
    },
    makeRoom: () => rmSync(filler),
  }
}

function mount(folder: string, mebibytes: number): boolean {
  if (process.platform !== 'linux') return false
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'none', folder]).status === 0
}

function unmount(folder: string): void {
  spawnSync('umount', ['--lazy', folder])
}
