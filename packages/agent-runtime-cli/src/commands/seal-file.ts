import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { isRecord, RuntimeError } from '@ku0/agent-runtime-core'
import type { Seal } from '@ku0/agent-runtime-persistence'
import { UsageError } from '../complain.ts'

/** The seal in a file; undefined if there is no such file yet. */
export function readSeal(file: string): Seal | undefined {
  if (!existsSync(file)) return undefined
  let read: unknown
  try {
    read = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw notASeal(file, error)
  }
  if (!isRecord(read) || !('storeId' in read && 'commit' in read && 'hash' in read)) throw notASeal(file)
  return { storeId: String(read['storeId']), commit: Number(read['commit']), hash: String(read['hash']) }
}

/** Puts a seal in place of the one before at once, so that a process that dies meanwhile leaves one of them. */
export function writeSeal(file: string, seal: Seal): void {
  const next = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(next, `${JSON.stringify(seal)}\n`)
    renameSync(next, file)
  } catch (error) {
    if (existsSync(next)) rmSync(next)
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new RuntimeError('invalid_argument', `the seal cannot be written to ${file}: ${reason}`, {
      cause: error,
    })
  }
}

function notASeal(file: string, cause?: unknown): UsageError {
  return new UsageError(`${file} is no seal of a verification; name another file, or delete it to read all`, {
    cause,
  })
}
