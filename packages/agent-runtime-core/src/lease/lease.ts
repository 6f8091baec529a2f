import type { ResourcesLeft } from '../profile/profile.ts'
import type { Lane } from '../task/lane.ts'

/** Why a lease ended. Source: `docs/semantics.md 1.1, 4.10`. */
export const leaseEndReasons = [
  'completed',
  'failed',
  'retry',
  'rate_limited',
  'expired',
  'owner_dead',
  'canceled',
  'yielded',
  'drained',
  'restarted',
  'waiting',
] as const
export type LeaseEndReason = (typeof leaseEndReasons)[number]

/** A lease's verdict for its holder. Source: `docs/semantics.md 4.3`. */
export interface LeaseNotice {
  readonly leaseId: string
  readonly taskId: string
  /** `failed`: the runtime has failed the task; the handler has to stop. */
  readonly verdict: 'lost' | 'canceled' | 'yield' | 'failed'
  readonly reason?: string
}

/** A task given to a worker, with the lease that lets it write. */
export interface Claim {
  readonly taskId: string
  readonly leaseId: string
  readonly workerId: string
  readonly sequence: number
  readonly type: string
  readonly lane: Lane
  readonly attempt: number
  readonly crashes: number
  readonly fencingToken: number
  readonly dispatch: number
  readonly acquiredAt: number
  readonly expiresAt: number
  /** Steps recorded so far. */
  readonly steps: number
  /** Whether anything happened to the task before: its memos are to be read before the handler runs. */
  readonly replays: boolean
  /** For a child of a task. */
  readonly isChild?: true
  /** The data of `task.queued` (canonical JSON text): `input`, `timeoutMs`, `labels`, `trace`, … */
  readonly submission: string
  /** The last `ctx.checkpoint` data, when there is one. */
  readonly checkpoint?: string
  /** A budget that it draws on asks, and nobody has answered: it is given back at its first step boundary. */
  readonly yields?: true
  /** For an agent of a swarm. */
  readonly left?: ResourcesLeft
}

/** Whether a fenced write was taken. `stale`: the lease is no longer live; nothing was written. */
export type Fenced = 'ok' | 'stale'
