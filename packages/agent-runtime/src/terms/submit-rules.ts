import {
  isAmount,
  isName,
  isRecord,
  isOneOf,
  lanes,
  limitRule,
  nameRule,
  namesRule,
  type Rule,
  type Rules,
} from '@ku0/agent-runtime-core'
import { isAgreement } from './agreement.ts'
import type { SubmitOptions } from '../api/submissions.ts'

export const labelsRule: Rule = ['an object of strings, no lone surrogates', isLabels]

/** The rule for each option. */
export const submitRules: Rules<SubmitOptions> = {
  lane: isOneOf(lanes),
  taskId: nameRule,
  idempotencyKey: nameRule,
  client: nameRule,
  model: nameRule,
  tools: namesRule,
  labels: labelsRule,
  dueAt: [
    'a Date, or epoch ms: a whole number from 0 to 8.64e15',
    (value) => isTime(value instanceof Date ? value.getTime() : value),
  ],
  delayMs: ['a whole number of ms from 0 to 8.64e15', isTime],
  timeoutMs: limitRule,
  tokens: ['a whole number, 0 or more', (value) => Number.isSafeInteger(value) && isAmount(value)],
  cost: ['a number from 0 to 1e9', (value) => isAmount(value) && value <= 1e9],
  budget: ['an object with limits', isRecord],
  agreement: [
    'what defineAgreement returns, or the name of one that was given as agreements',
    (value) => isAgreement(value) || isName(value),
  ],
  onReject: isOneOf(['return', 'throw']),
}

/** Whole ms that a Date can represent: the store keeps integers. */
function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value) && isAmount(value) && value <= 8.64e15
}

function isLabels(value: unknown): boolean {
  return (
    isRecord(value) &&
    Object.entries(value).every(
      ([label, text]) => isName(label) && typeof text === 'string' && text.isWellFormed(),
    )
  )
}
