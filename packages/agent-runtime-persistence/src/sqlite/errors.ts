import { RuntimeError, StoreError } from '@ku0/agent-runtime-core'
import { isFull } from './full-disk.ts'
import { adviceOnStrangers } from './other-users.ts'
import { DamagedRow } from './stored.ts'

/** SQLite's error as the store's: a code to act upon, the path, and what to do. */
export function storeErrorOf(cause: unknown, path: string): Error {
  if (cause instanceof RuntimeError) return cause
  const code = codeOf(cause)
  const detail = cause instanceof Error ? cause.message : String(cause)
  if (code.startsWith('SQLITE_NOTADB'))
    return new StoreError('store_not_a_database', `${path} is not a SQLite database; choose another file`, {
      cause,
    })
  if (isFull(cause) && code !== 'SQLITE_IOERR_SHMSIZE')
    return new StoreError('store_full', `${path}: the disk is full; free space, then try again`, { cause })
  const advice = /^SQLITE_(?:READONLY|CANTOPEN)/.test(code) ? adviceOnStrangers(path) : undefined
  if (advice !== undefined)
    return new StoreError('store_read_only', `${path} cannot be written: ${advice}`, { cause })
  if (code.startsWith('SQLITE_READONLY') || code === 'SQLITE_PERM')
    return new StoreError(
      'store_read_only',
      `${path} cannot be written; give this user write access to the file and its folder`,
      { cause },
    )
  if (code.startsWith('SQLITE_CANTOPEN') || code === 'SQLITE_AUTH')
    return new StoreError(
      'store_read_only',
      `${path} cannot be opened (${detail}); check that this user may read and write it and its folder`,
      { cause },
    )
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'))
    return new StoreError('store_busy', `${path} is held by another process; try again`, { cause })
  if (code.startsWith('SQLITE_CORRUPT'))
    return new StoreError('store_corrupt', `${path} is damaged (${detail}); restore a backup`, { cause })
  if (code === 'SQLITE_IOERR_SHMSIZE')
    return new StoreError(
      'store_full',
      `${path}: there is no room for its -shm file: the disk or this user's disk quota is full; free space, then try again`,
      { cause },
    )
  if (code.startsWith('SQLITE_IOERR_SHM'))
    return new StoreError(
      'store_not_durable',
      `${path}: the file system does not support shared memory, which processes need to share a store (${code}); use a local disk`,
      { cause },
    )
  if (code.startsWith('SQLITE_IOERR'))
    return new StoreError(
      'store_io',
      `${path}: reading or writing failed (${code}); check the disk, then start again`,
      { cause },
    )
  if (code === 'SQLITE_ERROR' && /^no such (?:table|column|index)/.test(detail))
    return lacking(path, detail, { cause })
  if (/^E[A-Z]+$/.test(code)) {
    const remedy = /^(?:EACCES|EPERM|EROFS)$/.test(code)
      ? 'give this user write access to the file and its folder'
      : 'remove the cause, then try again'
    return new StoreError('store_read_only', `${path} cannot be opened (${detail}); ${remedy}`, { cause })
  }
  // Nothing but what is stored is parsed here.
  if (cause instanceof SyntaxError || cause instanceof DamagedRow)
    return new StoreError(
      'store_corrupt',
      `${path} holds a value that the runtime did not write (${detail}); run verify to see where, and restore a backup`,
      { cause },
    )
  return new RuntimeError(
    'internal',
    `${path}: a check failed, and nothing was written (${detail}); run verify: if it finds no fault, this is a bug of the runtime`,
    { cause },
  )
}

/** Whether another connection holds the lock: nothing is wrong, try again. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY')
}

/** Whether a page was asked for that the file holds only the beginning of. */
export function isCutWithinAPage(error: unknown): boolean {
  return codeOf(error) === 'SQLITE_IOERR_SHORT_READ'
}

/** After these nothing the connection says can be trusted: the store stops for good (T7). */
export function isFatal(error: unknown): boolean {
  if (isFull(error)) return false
  const code = codeOf(error)
  return (
    code.startsWith('SQLITE_IOERR') || code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB')
  )
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : ''
}

/** The error for a store without something that this version made. */
export function lacking(path: string, what: string, options: ErrorOptions = {}): StoreError {
  const message = `${path} lacks a part of its tables (${what}); another program changed it: restore a backup`
  return new StoreError('store_schema', message, options)
}
