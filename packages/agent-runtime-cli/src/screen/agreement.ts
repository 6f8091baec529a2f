import type { Explanation } from '@ku0/agent-runtime'
import { lasting } from './words.ts'

/** The agreement that a task comes under, with its client and tier, and whether its promise is kept. */
export function agreementText({ agreement }: Pick<Explanation, 'agreement'>): string | undefined {
  if (agreement === undefined) return undefined
  const { name, client, tier, promise } = agreement
  const late = promise === undefined || promise.lateMs === 0 ? '' : `, late by ${lasting(promise.lateMs)}`
  const promised = promise === undefined ? '' : `, promised within ${lasting(promise.latencyMs)}${late}`
  return `${name}, with ${client} (${tier})${promised}`
}
