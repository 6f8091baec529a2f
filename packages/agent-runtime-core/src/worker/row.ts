import type { TypeSettings } from './type-settings.ts'
import { type Lane, lanes } from '../task/lane.ts'

export interface WorkerRow {
  readonly id: number
  readonly workerId: string
  readonly process: number
  readonly capacity: number
  /** Its owner drains it, and will remove it. */
  readonly draining: boolean
  /** Somebody outside drained it: it is given nothing until that is taken back. */
  readonly drainAsked: boolean
  readonly types: readonly string[]
  /** The lanes that it takes tasks from; all where it names none. */
  readonly lanes?: readonly Lane[] | undefined
  /** Its settings of its task types, for others to compare. */
  readonly settings?: Readonly<Record<string, TypeSettings>> | undefined
  readonly lastSeenAt: number
  /** False once it has left the registry. */
  readonly registered: boolean
}

/** The flags of a worker's row, as one number: 1 and 2 are drains, 4, 8 and 16 lanes that it does not take. */
export function workerFlags({ draining, drainAsked, lanes: own }: WorkerRow): number {
  const left = lanes.map((lane, rank) => (own?.includes(lane) === false ? 4 << rank : 0))
  return left.reduce((sum, flag) => sum + flag, Number(draining) + 2 * Number(drainAsked))
}

/** The same, read. */
export function readWorkerFlags(flags: number): Pick<WorkerRow, 'draining' | 'drainAsked' | 'lanes'> {
  const own = lanes.filter((_, rank) => (flags & (4 << rank)) === 0)
  return {
    draining: (flags & 1) !== 0,
    drainAsked: (flags & 2) !== 0,
    ...(own.length === lanes.length ? {} : { lanes: own }),
  }
}
