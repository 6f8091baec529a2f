import type { LeaseRow } from '@ku0/agent-runtime-core/transition'
import type { Kept, KeptWanted } from '../../engine/database.ts'
import { keptOf, readsOf } from '../../sqlite/keep.ts'
import { some } from '../../sqlite/wanted.ts'
import type { StoredTables } from '../../sqlite/stored-tables.ts'
import type { Asking } from './asked.ts'

/** Whose rows a process keeps. */
export interface Owners {
  readonly process: number
  /** All processes on lines, which other processes of the store may serve, too; undefined without lines. */
  readonly remote: number | undefined
}

/**
 * Reads what the engine keeps, with all questions asked at once that do not build on other answers. `touched`: of the leases of this process only
 * those of these tasks are read; undefined reads all.
 */
export function prepareFarKeep({ load }: StoredTables, asking: Asking, { process, remote }: Owners) {
  const owners = remote === undefined ? [process] : [process, remote]

  function runningOf({ held }: KeptWanted, touched: ReadonlySet<number> | undefined): readonly LeaseRow[] {
    if (touched === undefined) return asking.gather(owners, load.running)
    const own = [...held.values()].filter((it) => it.process === process && touched.has(it.task))
    const found = () => asking.gather(own, ({ id }) => some(load.lease(id))).filter(isLive)
    return asking.gather([found, () => (remote === undefined ? [] : load.running(remote))], (read) => read())
  }

  return (wanted: KeptWanted, touched: ReadonlySet<number> | undefined): Kept => {
    const reads = readsOf(load, owners, wanted)
    const running = () => {
      const leases = runningOf(wanted, touched)
      return { touched, leases, tasks: asking.gather(leases, ({ task }) => some(load.task(task))) }
    }
    asking.ahead<() => unknown>([running, ...Object.values<() => unknown>(reads)], (read) => read())
    return keptOf(reads, running())
  }
}

function isLive({ state }: LeaseRow): boolean {
  return state === 'running'
}
