import type { Explanation } from '@ku0/agent-runtime'

/** The agreement that a task comes under, with its client and tier. */
export function agreementText({ agreement }: Pick<Explanation, 'agreement'>): string | undefined {
  return agreement && `${agreement.name}, with ${agreement.client} (${agreement.tier})`
}
