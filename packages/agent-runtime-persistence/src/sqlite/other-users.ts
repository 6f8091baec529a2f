import { type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { StoreError } from '@ku0/agent-runtime-core'
import { anchorPath } from '../anchor-path.ts'

/**
 * SQLite makes a log and its index beside a database that nobody has open, also to read it, and whoever may only read it cannot remove
 * them again. They have the rights of the database but belong to this user: refuses where its owner could not write them then, and so
 * could not open the store any more. Without an anchor the file is a copy, which has no log.
 */
export function assertOwnerStaysIn(path: string): void {
  const user = process.geteuid?.()
  const database = lookAt(path)
  if (user === undefined || database === undefined || lookAt(anchorPath(path)) === undefined) return
  if (besides(path).every((file) => lookAt(file) !== undefined)) return
  // What root makes SQLite gives to the owner of the database.
  if (user === 0 || user === database.uid) return
  const made = { uid: user, gid: groupIn(dirname(path)), mode: database.mode }
  if (mayWrite(made, database.uid, [database.gid])) return
  throw new StoreError(
    'store_read_only',
    `no process has ${path} open, and reading it as user ${user} would leave files beside it that its owner, user ${database.uid}, may not write; run this as user ${database.uid}, or while a process has the store open`,
  )
}

/** What to do where files that another user left beside a database keep this one from writing it; nothing where there are none. */
export function adviceOnStrangers(path: string): string | undefined {
  const user = process.geteuid?.()
  const database = lookAt(path)
  if (user === undefined || user === 0 || database === undefined) return undefined
  const groups = [process.getegid?.() ?? -1, ...(process.getgroups?.() ?? [])]
  if (!mayWrite(database, user, groups)) return undefined
  const strangers = besides(path).flatMap((file) => {
    const stat = lookAt(file)
    return stat === undefined || mayWrite(stat, user, groups) ? [] : [{ file, stat }]
  })
  if (strangers.length === 0) return undefined
  const told = strangers.map(({ file, stat }) => `${file} (user ${stat.uid}, mode ${modeOf(stat)})`)
  const names = strangers.map(({ file }) => file).join(' ')
  return `user ${user} may not write ${told.join(' and ')}; keep these files, because the log may hold commits, and give them to the owner of the database: chown ${database.uid}:${database.gid} ${names}`
}

function besides(path: string): readonly string[] {
  return [`${path}-wal`, `${path}-shm`]
}

type Rights = Pick<Stats, 'uid' | 'gid' | 'mode'>

function mayWrite({ uid, gid, mode }: Rights, user: number, groups: readonly number[]): boolean {
  const shift = uid === user ? 6 : groups.includes(gid) ? 3 : 0
  return ((mode >> shift) & READ_WRITE) === READ_WRITE
}

const READ_WRITE = 0o6
const SET_GROUP = 0o2000

/** Of a file that this user makes in a folder. */
function groupIn(folder: string): number {
  const stat = lookAt(folder)
  const handsOn = process.platform === 'darwin' || ((stat?.mode ?? 0) & SET_GROUP) !== 0
  return stat !== undefined && handsOn ? stat.gid : (process.getegid?.() ?? -1)
}

function modeOf({ mode }: Rights): string {
  return (mode & 0o777).toString(8).padStart(3, '0')
}

/** Nothing where there is none, or nobody may look: then others say what is wrong. */
function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
