import {
  describeError,
  encode,
  type ExecutionConfig,
  invalid,
  isRecord,
  type Settlement,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import type { LeaseOutcome } from '../api/leases.ts'

/** What the store is told of an outcome that a caller states. Throws `invalid_argument` for what is none, and for an output that cannot be stored. */
export function settlementOf(
  outcome: LeaseOutcome,
  what: string,
  { config, values }: { readonly config: ExecutionConfig; readonly values: ValueCodec },
): Settlement {
  if (!isRecord(outcome) || 'output' in outcome === 'error' in outcome)
    throw invalid('release: either { output } or { error }')
  if ('error' in outcome)
    return {
      as: 'failed',
      kind: 'error',
      error: encode(describeError(outcome.error), { what: 'an error' }),
    }
  return {
    as: 'completed',
    output: values.encode(outcome.output, { what, maxBytes: config.maxPayloadBytes }),
  }
}
