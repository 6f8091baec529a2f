import {
  encode,
  isAmount,
  isWithinOne,
  type Rule,
  type Rules,
  type UsageSample,
  withoutUndefined,
  type Given,
} from '@ku0/agent-runtime-core'
import type { Heartbeat } from '../api/profiles.ts'

const amountRule: Rule = ['a number, 0 or more', isAmount]
// A number outside 0 to 1 would be taken for a share and lost.
const progressRule: Rule = [
  'a number from 0 to 1, or a value that is not a number',
  (value) => typeof value !== 'number' || isWithinOne(value),
]
const shareRule: Rule = ['a number from 0 to 1', isWithinOne]

export const heartbeatRules: Rules<Heartbeat> = {
  progress: progressRule,
  computeUs: amountRule,
  memoryBytes: amountRule,
  errorRate: shareRule,
  saturation: shareRule,
}

/** A heartbeat as it is stored: its sample, and its progress as text and as a share. */
export function readHeartbeat(
  { progress, ...sample }: Heartbeat,
  maxBytes: number,
): { readonly sample: Given<UsageSample>; readonly progress?: string; readonly share?: number } {
  return {
    sample: withoutUndefined(sample),
    ...(progress === undefined
      ? {}
      : { progress: encode(progress, { what: 'a progress report', maxBytes }) }),
    ...(isWithinOne(progress) ? { share: progress } : {}),
  }
}
