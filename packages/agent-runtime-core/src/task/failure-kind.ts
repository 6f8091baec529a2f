/** The kinds of failure of a failed task. Source: `docs/semantics.md 1.1, 8.8`. */
export const failureKinds = [
  'error',
  'timeout',
  'hard_limit',
  'poisoned',
  'schema_mismatch',
  'invalid_output',
  'limit_exceeded',
  'not_approved',
  'budget_exceeded',
  'lease_lost',
  'crashed',
  'escalated',
  'gateway_unreachable',
] as const
export type FailureKind = (typeof failureKinds)[number]
