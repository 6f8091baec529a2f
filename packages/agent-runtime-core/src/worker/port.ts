import type { Lane } from '../task/lane.ts'
import type { TypeSettings } from './type-settings.ts'
import type { WorkerStatus } from './schema.ts'

/** Writes about workers. */
export interface WorkerWrites {
  registerWorkers: {
    fields: {
      readonly workers: readonly {
        readonly workerId: string
        readonly capacity: number
        readonly types: readonly string[]
        /** The lanes that it takes tasks from; all by default. */
        readonly lanes?: readonly Lane[] | undefined
        /** Its settings of its task types, for others to compare. */
        readonly settings?: Readonly<Record<string, TypeSettings>> | undefined
      }[]
      /** Set by the end of a line in the store's own process: the workers are those of a process without the database. */
      readonly remote?: true
    }
    outcome: boolean
  }
  /** From the commit on the worker is given nothing. */
  drainWorkers: { fields: { readonly workerIds: readonly string[] }; outcome: boolean }
  /** Any process drains the workers of a name, or takes that back; the outcome is how many there are. */
  askDrain: {
    fields: { readonly workerId: string; readonly draining: boolean }
    outcome: number
  }
  /** The workers leave the registry; leases they still hold are released as drained. */
  removeWorkers: { fields: { readonly workerIds: readonly string[] }; outcome: boolean }
}

/** Reads about workers. */
export interface WorkerReads {
  workers: { fields: Record<never, never>; answer: readonly WorkerStatus[] }
}
