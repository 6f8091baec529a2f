import {
  childRestarts,
  isOneOf,
  MAX_SHUTDOWN_MS,
  type Rule,
  type Rules,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { SupervisedOptions } from '../api/supervisors.ts'
import { submitRules } from './submit-rules.ts'

/** The id of a child within its supervisor: objects move keys that are whole numbers to the front. */
export function isSupervisedId(id: unknown): id is string {
  return typeof id === 'string' && /^[^/]{1,200}$/su.test(id) && id.isWellFormed() && !/^\d+$/.test(id)
}

export const supervisedIdRule = 'an id of 1 to 200 characters without /, not a whole number'

/** How long a child may take to stop. */
export const shutdownRule: Rule = wholeNumber(1, MAX_SHUTDOWN_MS)

const { idempotencyKey: _, client: __, taskId: ___, ...rest } = submitRules
/** The options of a child that is started from outside. */
export const supervisedRules: Rules<SupervisedOptions> = {
  ...rest,
  restart: isOneOf(childRestarts),
  shutdownMs: shutdownRule,
}
