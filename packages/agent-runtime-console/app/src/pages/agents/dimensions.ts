import type { EvaluationRecord } from '@ku0/agent-runtime-core'

/** A record, so that the compiler misses a dimension that is new. */
export const dimensions = Object.keys({
  quality: true,
  adherence: true,
  speed: true,
  cost: true,
  errors: true,
  revisions: true,
} satisfies Record<keyof EvaluationRecord['scores'], true>) as (keyof EvaluationRecord['scores'])[]
