// oxlint-disable-next-line house/database-files -- it opens nothing
import { chmodSync, chownSync, statSync } from 'node:fs'

/**
 * Gives what was just made beside a database its rights, whatever the umask, and its group: whoever may write the one has to write the
 * other. `folder`: whoever may read it may look into it. Where its group is not ours to give, the rights alone have to do. What root makes
 * gets the owner of the database, as SQLite does with the log.
 */
export function rightsAsOf(database: string, path: string, folder = false): void {
  const like = statSync(database, { throwIfNoEntry: false })
  // Rights and groups are told in another way there.
  if (like === undefined || process.platform === 'win32') return
  const own = statSync(path)
  const rights = like.mode & 0o666
  const wanted = folder ? rights | ((rights & 0o444) >> 2) : rights
  try {
    const uid = process.geteuid?.() === 0 ? like.uid : own.uid
    if (own.uid !== uid || own.gid !== like.gid) chownSync(path, uid, like.gid)
  } catch {
    // Not a member of it.
  }
  // After the owner: a change of that takes the bit of the group away.
  if ((own.mode & 0o777) !== wanted) chmodSync(path, (own.mode & 0o7000) | wanted)
}
