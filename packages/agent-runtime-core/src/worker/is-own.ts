import type { Base } from '../transition/working-set.ts'

/** Whether a row belongs to this process, or to a process on one of its lines. */
export function isOwn({ process, remote }: Pick<Base, 'process' | 'remote'>, owner: number): boolean {
  return owner === process || owner === remote
}
