import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientTiers } from '../../src/share/client.ts'
import {
  type RankCandidate,
  defaultRankWeights,
  type Ranking,
  rankProposals,
  rankTerms,
} from '../../src/market/rank.ts'

const abilities = ['read', 'score', 'write']
const price = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.double({ min: 0, max: 1e9, noNaN: true }))
const share = fc.integer({ min: 0, max: 20 }).map((part) => part / 20)
const candidate: fc.Arbitrary<RankCandidate> = fc.record(
  {
    agent: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
    price,
    capabilities: fc.subarray(abilities),
    tier: fc.constantFrom(...clientTiers),
    reputation: share,
    distance: share,
  },
  { requiredKeys: ['agent', 'price', 'capabilities', 'tier'] },
)
const candidates = fc.uniqueArray(candidate, { selector: ({ agent }) => agent, minLength: 2, maxLength: 8 })
const weights = fc
  .tuple(...rankTerms.map(() => fc.integer({ min: 0, max: 10 })))
  .filter((parts) => parts.some((part) => part > 0))
  .map((parts) => {
    const sum = parts.reduce((total, part) => total + part, 0)
    return Object.fromEntries(
      rankTerms.map((term, at) => [term, (parts[at] ?? 0) / sum]),
    ) as Ranking['weights']
  })
const ranking: fc.Arbitrary<Ranking> = fc.record({
  prefers: fc.subarray(abilities),
  weights,
  beta: fc.constantFrom(0, 0.5, 1, 10),
  explores: fc.constantFrom(false, false, true),
})
const plain: Ranking = { prefers: [], weights: defaultRankWeights, beta: 0, explores: false }
const names = (given: readonly RankCandidate[], by: Ranking) =>
  rankProposals(given, by).map(({ agent }) => agent)

/** Whether an agent stands no lower than before against each of the others, whose order among themselves is not asked about. */
const isNoLower = (agent: string, before: readonly string[], after: readonly string[]) => {
  const behind = (order: readonly string[]) => order.slice(order.indexOf(agent) + 1)
  return behind(before).every((other) => behind(after).includes(other))
}

describe('13.6 the ranking of proposals', () => {
  test('13.6 is total and deterministic: every proposal once, in one order, however they come', () => {
    fc.assert(
      fc.property(candidates, ranking, fc.infiniteStream(fc.nat()), (given, by, chance) => {
        const order = names(given, by)
        expect(order.toSorted()).toEqual(given.map(({ agent }) => agent).toSorted())
        const shuffled = given
          .map((it) => [it, chance.next().value as number] as const)
          .toSorted(([, a], [, b]) => a - b)
          .map(([it]) => it)
        expect(names(shuffled, by)).toEqual(order)
      }),
    )
  })

  test('13.6 has scores and terms from 0 to 1, the best first', () => {
    fc.assert(
      fc.property(candidates, ranking, (given, by) => {
        const scores = rankProposals(given, by).map(({ score, terms }) => {
          for (const term of rankTerms) {
            expect(terms[term]).toBeGreaterThanOrEqual(0)
            expect(terms[term]).toBeLessThanOrEqual(1)
          }
          return score
        })
        expect(scores).toEqual(scores.toSorted((a, b) => b - a))
        expect(scores[0]).toBeLessThanOrEqual(1 + 1e-9)
      }),
    )
  })

  const better: Readonly<Record<string, (it: RankCandidate, by: number) => RankCandidate>> = {
    'a capability more': (it) => ({ ...it, capabilities: [...new Set([...it.capabilities, 'score'])] }),
    'a lower price': (it, by) => ({ ...it, price: it.price * by }),
    'a contract': (it) => ({ ...it, tier: 'contracted' }),
    'a better reputation': ({ reputation = 0, ...it }, by) => ({
      ...it,
      reputation: reputation + (1 - reputation) * by,
    }),
    'a smaller distance': ({ distance, ...it }, by) =>
      distance === undefined ? it : { ...it, distance: distance * by },
  }
  test.each(Object.entries(better))('13.6 %s never moves an agent down', (_, change) => {
    fc.assert(
      fc.property(candidates, ranking, fc.nat(7), share, (given, by, at, much) => {
        const one = given[at % given.length] as RankCandidate
        const changed = given.map((it) => (it === one ? change(it, much) : it))
        expect(isNoLower(one.agent, names(given, by), names(changed, by))).toBe(true)
      }),
    )
  })

  test('13.6 the terms by numbers', () => {
    const [best, second, third] = rankProposals(
      [
        {
          agent: 'dear',
          price: 9,
          capabilities: ['read', 'score'],
          tier: 'contracted',
          reputation: 0.86405,
          distance: 0.1,
        },
        {
          agent: 'cheap',
          price: 1,
          capabilities: ['read'],
          tier: 'marketplace',
          reputation: 0.86405,
          distance: 0.5,
        },
        { agent: 'new', price: 4, capabilities: [], tier: 'marketplace' },
      ],
      { ...plain, prefers: ['read', 'score'], beta: 0.5 },
    )
    // 4 (1 + 0.5 x 0.86405) of at most 4 (1 + 0.5): a quarter of 1 + 0.2 + 0.954683 + 0.9.
    expect(best).toMatchObject({ agent: 'dear', terms: { capability: 1, price: 0.2, similarity: 0.9 } })
    expect(best?.terms.weight).toBeCloseTo(0.954683, 6)
    expect(best?.score).toBeCloseTo(0.763671, 6)
    expect(second).toMatchObject({ agent: 'cheap', terms: { capability: 0.5, price: 1, similarity: 0.5 } })
    expect(second?.terms.weight).toBeCloseTo(0.238671, 6)
    expect(third).toMatchObject({ agent: 'new', terms: { capability: 0, price: 0.4, similarity: 0.5 } })
    expect(third?.terms.weight).toBeCloseTo(1 / 6, 9)
  })

  test('13.6 equal scores go by price, then by name by code unit', () => {
    const byTier = { ...plain, weights: { capability: 0, price: 0, weight: 1, similarity: 0 } }
    const of = (agent: string, cost: number): RankCandidate => ({
      agent,
      price: cost,
      capabilities: [],
      tier: 'marketplace',
    })
    expect(names([of('b', 2), of('a', 3), of('a2', 2), of('B', 2)], byTier)).toEqual(['B', 'a2', 'b', 'a'])
  })

  test('11.6 a ranking that explores leaves out what is known', () => {
    const known: RankCandidate = {
      agent: 'known',
      price: 2,
      capabilities: [],
      tier: 'marketplace',
      reputation: 1,
      distance: 0,
    }
    const fresh: RankCandidate = { agent: 'fresh', price: 1, capabilities: [], tier: 'marketplace' }
    expect(names([known, fresh], { ...plain, beta: 1 })).toEqual(['known', 'fresh'])
    expect(names([known, fresh], { ...plain, beta: 1, explores: true })).toEqual(['fresh', 'known'])
  })
})
