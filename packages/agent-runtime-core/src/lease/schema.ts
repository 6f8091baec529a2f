import { z } from 'zod'
import { leaseEndReasons } from './lease.ts'
import { leaseStates } from '../task/states.ts'

/**
 * One worker's exclusive, expiring right to run a task; its id is the fence of everything the holder writes.
 * Times are epoch ms by the store's clock. `expiresAt` is exclusive: at that instant the lease has expired.
 * Source: Track AA, Data Model; `docs/semantics.md 1.4, 4`.
 */
export const ExecutionLease = z.strictObject({
  leaseId: z.uuid(),
  taskId: z.string(),
  workerId: z.string(),
  status: z.enum(leaseStates),
  acquiredAt: z.number(),
  expiresAt: z.number(),
  lastHeartbeatAt: z.number(),
  /** The task's attempt this lease runs, from 1. */
  attempt: z.int().min(1),
  /** Rises by one with every claim of the task; tools use it to refuse an older holder. */
  fencingToken: z.int().min(1),
  /** The store-wide number of this start: the order in which tasks were started. */
  dispatch: z.int().min(1),
  endedAt: z.number().optional(),
  endReason: z.enum(leaseEndReasons).optional(),
  /** The handler's last report through `ctx.heartbeat`. */
  progress: z.unknown().optional(),
  /** When that report was made. */
  progressAt: z.number().optional(),
  /** The physical stop behind a cancellation, apart from the logical state. Source: `docs/semantics.md` C3. */
  abort: z
    .strictObject({
      requestedAt: z.number(),
      acknowledgedAt: z.number().optional(),
      graceExpiredAt: z.number().optional(),
    })
    .optional(),
})
export type ExecutionLease = z.infer<typeof ExecutionLease>
