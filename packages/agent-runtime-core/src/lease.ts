export type { ExecutionLease } from './schemas/lease.ts'

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
  'waiting',
] as const
export type LeaseEndReason = (typeof leaseEndReasons)[number]
