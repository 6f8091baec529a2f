import { execFileSync } from 'node:child_process'
import { closeSync, fdatasyncSync, openSync, readFileSync, statfsSync, writeSync } from 'node:fs'
import { cpus, release, totalmem, type as systemType } from 'node:os'
import { join } from 'node:path'
import type { Machine } from './results.ts'

export function describeMachine(folder: string): Machine {
  const all = cpus()
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${systemType()} ${release().split('-')[0]}`,
    disk: fileSystem(folder),
  }
}

/** Synced writes of 4 KiB a second: what bounds every answer that waits for the disk. */
export function syncRate(folder: string, ms: number): number {
  const file = openSync(join(folder, 'sync'), 'w')
  const page = Buffer.alloc(4_096, 1)
  let count = 0
  const at = performance.now()
  try {
    while (performance.now() - at < ms) {
      // Over and over a small file, as a log is after its first round.
      writeSync(file, page, 0, page.length, (count % 256) * page.length)
      fdatasyncSync(file)
      count += 1
    }
  } finally {
    closeSync(file)
  }
  return count / ((performance.now() - at) / 1000)
}

/** The version that is installed of a package of this folder. */
export function versionOf(name: string, base: string): string {
  const file = join(base, 'node_modules', name, 'package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

export function nodeVersion(node: string): string {
  return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().replace(/^v/, '')
}

function fileSystem(folder: string): string {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
    const [found] = mounts
      .filter(([, at = '']) => `${folder}/`.startsWith(at.endsWith('/') ? at : `${at}/`))
      .toSorted((a, b) => (b[1]?.length ?? 0) - (a[1]?.length ?? 0))
    if (found?.[2] !== undefined) return found[2]
  } catch {
    // Not Linux: the number of its file system has to do.
  }
  return `file system ${statfsSync(folder).type}`
}
