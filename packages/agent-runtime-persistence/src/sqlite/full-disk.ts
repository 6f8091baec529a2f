/**
 * Whether the disk had no room, or this user's quota of it was used up. What failed was not stored, and may be tried again: a full disk
 * stops no store for good. Source: `docs/reliability.md` D03.
 */
export function isFull(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' && fullCodes.has(code)
}

/** SQLite's, the last of them where the index of the log cannot grow; ours; and the operating system's. */
const fullCodes = new Set(['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', 'store_full', 'ENOSPC', 'EDQUOT'])
