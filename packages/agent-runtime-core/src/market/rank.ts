import { effectiveWeight } from '../evaluation/reputation.ts'
import type { ClientTier } from '../share/client.ts'
import { tierWeights } from '../share/fairness.ts'

/** An agent's offer to do a job. Source: agent-scheduler-paper 3.6; `docs/marketplace.md`. */
export type Proposal = {
  /** The name of the agent: a marketplace has one proposal of each. */
  readonly agent: string
  /** Its cost for the whole job, in credits, 0 to 1e9. Source: agent-scheduler-paper 4.1. */
  readonly price: number
  /** The capabilities of the agent. */
  readonly capabilities: readonly string[]
  /** Whether the agent works under contract: `contracted` weighs 4, `marketplace` 1. */
  readonly tier: ClientTier
  /** The time that it promises for the work, ms; absent if it promises none. */
  readonly targetMs?: number
}

/** A proposal with what is known of its agent. */
export interface RankCandidate extends Proposal {
  /** Absent for an agent that was never evaluated. */
  readonly reputation?: number
  /** How far its average is from that of the agent that the job asks for, 0 to 1; absent if either was never evaluated. */
  readonly distance?: number
}

/** The terms of a ranking, each from 0 to 1, where 1 is the best. */
export const rankTerms = ['capability', 'price', 'weight', 'similarity'] as const
export type RankTerm = (typeof rankTerms)[number]
/** How much each term counts: 0 or more, 1 in all. */
export type RankWeights = Readonly<Record<RankTerm, number>>

/** The weights of a marketplace that names none. */
export const defaultRankWeights: RankWeights = {
  capability: 0.25,
  price: 0.25,
  weight: 0.25,
  similarity: 0.25,
}

/** A proposal with its place in a ranking: the weighted sum of its terms, 0 to 1. */
export type RankedProposal = Proposal & {
  readonly score: number
  readonly terms: Readonly<Record<RankTerm, number>>
}

/** How proposals are ranked. */
export interface Ranking {
  /** Capabilities that the client would like beyond those that it needs. */
  readonly prefers: readonly string[]
  readonly weights: RankWeights
  /** How much reputation counts in an effective weight, 0 or more. Source: `docs/semantics.md 11.6`. */
  readonly beta: number
  /** Leaves out the reputation and the distance, so that an agent without a good name can make itself one. Source: `docs/semantics.md 11.6`. */
  readonly explores: boolean
}

/**
 * Proposals, the best first: by the weighted sum of their terms, those of one sum by price, then by the agent's name. Each term is computed of the proposal
 * alone, but the price, which is compared with the lowest one.
 *
 * - capability: the share of the capabilities that the client would like;
 * - price: `(1 + lowest price) / (1 + price)`;
 * - weight: `w (1 + beta R)` of the most that an agent can have, `4 (1 + beta)`;
 * - similarity: 1 less the distance; 0.5 where nothing is known.
 *
 * Source: agent-scheduler-paper 4.1, 8.4, 8.6; `docs/semantics.md 13.6`.
 */
export function rankProposals(candidates: readonly RankCandidate[], ranking: Ranking): RankedProposal[] {
  const lowest = candidates.reduce((least, { price }) => Math.min(least, price), Number.POSITIVE_INFINITY)
  return candidates.map((it) => ranked(it, lowest, ranking)).toSorted(compareRanked)
}

function ranked(
  { reputation: known, distance: far, ...proposal }: RankCandidate,
  lowest: number,
  { prefers, weights, beta, explores }: Ranking,
): RankedProposal {
  const reputation = explores ? undefined : known
  const distance = explores ? undefined : far
  const { capabilities, price, tier } = proposal
  const has = new Set(capabilities)
  const most = tierWeights.contracted * (1 + beta)
  const terms = {
    capability: prefers.length === 0 ? 1 : prefers.filter((name) => has.has(name)).length / prefers.length,
    price: (1 + lowest) / (1 + price),
    weight: effectiveWeight(tierWeights[tier], beta, reputation) / most,
    similarity: distance === undefined ? NOT_KNOWN : 1 - distance,
  }
  const score = rankTerms.reduce((sum, term) => sum + weights[term] * terms[term], 0)
  return { ...proposal, score, terms }
}

const NOT_KNOWN = 0.5

function compareRanked(a: RankedProposal, b: RankedProposal): number {
  if (a.score !== b.score) return b.score - a.score
  if (a.price !== b.price) return a.price - b.price
  return a.agent < b.agent ? -1 : a.agent > b.agent ? 1 : 0
}
