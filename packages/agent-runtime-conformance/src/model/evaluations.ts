import type { ModelAgent } from './records.ts'

/** The result of an evaluation: the seq that it has, of the one that its key stands for, or none when there is no room. */
export function evaluate(
  agents: Map<string, ModelAgent>,
  it: { readonly agentId: string; readonly composite: number; readonly key: string | undefined },
  { maxKept, maxAgents }: { readonly maxKept: number; readonly maxAgents: number },
): { readonly as: 'recorded' | 'conflict' | 'full'; readonly seq?: number; readonly deduplicated?: boolean } {
  const { agentId, composite, key } = it
  const agent = agents.get(agentId)
  const known = agent?.kept.find((one) => key !== undefined && one.key === key)
  if (known !== undefined)
    return {
      as: known.composite === composite ? 'recorded' : 'conflict',
      seq: known.seq,
      deduplicated: true,
    }
  if (agent === undefined && agents.size >= maxAgents) return { as: 'full' }
  const { count, reputation, sum, kept } = agent ?? { count: 0, reputation: composite, sum: 0, kept: [] }
  const seq = count + 1
  agents.set(agentId, {
    count: seq,
    reputation: 0.3 * composite + 0.7 * reputation,
    sum: sum + composite,
    kept: [...kept, { seq, composite, key }].slice(-maxKept),
  })
  return { as: 'recorded', seq, deduplicated: false }
}
