import { MICRO } from '@ku0/agent-runtime-core'

/** The estimated cost of a task by the text of its account, in millionths. */
export function costIn(account: string | null): number {
  return account === null ? MICRO : (JSON.parse(account) as { cost: number }).cost
}
