import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MICRO } from '../../src/budget/usage.ts'
import {
  addAmounts,
  type Amounts,
  amountsOf,
  COMPUTE,
  dominantShare,
  entitlement,
} from '../../src/share/dominant.ts'
import { compareShares } from '../../src/share/share-tree.ts'

interface Client {
  readonly weight: number
  /** What one task of it holds. */
  readonly demand: Amounts
}

const resources = ['model:big', 'tool:browser', 'tool:shell']

/**
 * Progressive filling: whoever has the least dominant share starts a task, as long as one fits. In the same order as the store's, and without an end of
 * any task.
 */
function allocate(clients: readonly Client[], capacities: Amounts): readonly Amounts[] {
  const held: Amounts[] = clients.map(() => ({}))
  const fits = (demand: Amounts) => {
    const all = held.reduce((sum, it) => addAmounts(sum, it), demand)
    return Object.entries(all).every(([name, amount]) => amount <= (capacities[name] ?? 0))
  }
  for (;;) {
    const [next] = clients
      .map(({ demand, weight }, id) => ({
        demand,
        tier: 0,
        dominant: dominantShare(held[id] as Amounts, capacities, weight),
        time: 0,
        sequence: id,
        id,
      }))
      .filter(({ demand }) => fits(demand))
      .toSorted(compareShares)
    if (next === undefined) return held
    held[next.id] = addAmounts(held[next.id] as Amounts, next.demand)
  }
}

/** How many tasks of a client these amounts are enough for. */
const tasksIn = (amounts: Amounts, demand: Amounts) =>
  Math.min(...Object.entries(demand).map(([name, each]) => Math.floor((amounts[name] ?? 0) / each)))

const capacity = 400
const capacities = Object.fromEntries(resources.map((name) => [name, capacity]))
/** Each needs some of the resources, and no task so much that whole tasks matter more than shares. */
const demand: fc.Arbitrary<Amounts> = fc
  .tuple(...resources.map(() => fc.integer({ min: 0, max: 4 })))
  .filter((parts) => parts.some((part) => part > 0))
  .map((parts) =>
    Object.fromEntries(
      resources.flatMap((name, at) => ((parts[at] ?? 0) > 0 ? [[name, parts[at] ?? 0]] : [])),
    ),
  )
const client = fc.record({ weight: fc.constantFrom(1, 2, 4), demand })
const clients = fc.array(client, { minLength: 1, maxLength: 4 })
const equals = fc.array(fc.record({ weight: fc.constant(1), demand }), { minLength: 1, maxLength: 4 })
/** The share that one task of anybody moves: allocations of whole tasks are as exact as that. */
const grain = (all: readonly Client[]) =>
  Math.max(...all.map(({ demand: it, weight }) => dominantShare(it, capacities, weight)))

describe('11.10 dominant resource fairness', () => {
  test('11.10 sharing incentive: a client can do as much as with its part of each resource alone', () => {
    fc.assert(
      fc.property(clients, (all) => {
        const held = allocate(all, capacities)
        const sum = all.reduce((total, { weight }) => total + weight, 0)
        for (const [at, { demand: own, weight }] of all.entries()) {
          const part = Object.fromEntries(resources.map((name) => [name, (capacity * weight) / sum]))
          const tasks = tasksIn(held[at] as Amounts, own)
          // Whole tasks: the others may be one ahead in what it needs.
          expect(tasks).toBeGreaterThanOrEqual(
            tasksIn(part, own) - Math.ceil((grain(all) * weight) / dominantShare(own, capacities)) - 1,
          )
        }
      }),
    )
  })

  test('11.10 strategy-proofness: who asks for other amounts than it needs does no more with them', () => {
    fc.assert(
      fc.property(equals, demand, (all, lie) => {
        const [first] = all as [Client, ...Client[]]
        const honest = tasksIn(allocate(all, capacities)[0] as Amounts, first.demand)
        const lied = allocate([{ ...first, demand: lie }, ...all.slice(1)], capacities)[0] as Amounts
        const slack =
          Math.ceil(grain([...all, { weight: 1, demand: lie }]) / dominantShare(first.demand, capacities)) + 1
        expect(tasksIn(lied, first.demand)).toBeLessThanOrEqual(honest + slack)
      }),
    )
  })

  test('11.10 envy-freeness: nobody could do more with what another one has, by their weights', () => {
    fc.assert(
      fc.property(equals, (all) => {
        const held = allocate(all, capacities)
        for (const [at, { demand: own }] of all.entries())
          for (const other of held) {
            const slack = Math.ceil(grain(all) / dominantShare(own, capacities)) + 1
            expect(tasksIn(other, own)).toBeLessThanOrEqual(tasksIn(held[at] as Amounts, own) + slack)
          }
      }),
    )
  })

  test('11.10 Pareto efficiency: nobody can have one task more unless another one has less', () => {
    fc.assert(
      fc.property(clients, (all) => {
        const held = allocate(all, capacities)
        const used = held.reduce((sum, it) => addAmounts(sum, it), {})
        for (const { demand: own } of all)
          expect(Object.entries(own).some(([name, each]) => (used[name] ?? 0) + each > capacity)).toBe(true)
        expect(Object.values(used).every((amount) => amount <= capacity)).toBe(true)
      }),
    )
  })

  test('11.10 the example of the paper: 9 processors, 18 GB; A <1, 4>, B <3, 1>: three tasks of A, two of B', () => {
    const room = { 'tool:cpu': 9, 'model:memory': 18 }
    const held = allocate(
      [
        { weight: 1, demand: { 'tool:cpu': 1, 'model:memory': 4 } },
        { weight: 1, demand: { 'tool:cpu': 3, 'model:memory': 1 } },
      ],
      room,
    )
    expect(held).toEqual([
      { 'tool:cpu': 3, 'model:memory': 12 },
      { 'tool:cpu': 6, 'model:memory': 2 },
    ])
    expect(held.map((it) => dominantShare(it, room))).toEqual([2 / 3, 2 / 3])
  })

  test('11.10 tokens, tasks and costs are amounts; what has no capacity counts nothing', () => {
    const limits = { 'model:big': 1_000, 'tool:browser': 4, [COMPUTE]: 10 }
    const use = { tasks: 1, tokens: 300, cost: 2 * MICRO }
    const amounts = amountsOf(['model:big', 'tool:browser', 'tool:shell'], use, limits)
    expect(amounts).toEqual({ 'model:big': 300, 'tool:browser': 1, compute: 2 * MICRO })
    expect(dominantShare(amounts, limits)).toBe(0.3)
    expect(dominantShare({ 'tool:browser': 1, compute: 4 * MICRO }, limits, 2)).toBe(0.2)
    expect(addAmounts(amounts, amounts, -1)).toEqual({})
    expect(amountsOf(['tool:shell'], use, { 'model:big': 1 })).toEqual({})
    expect(dominantShare({}, limits)).toBe(0)
  })

  test('11.10 credits and tier entitle to more', () => {
    expect(entitlement({ credits: 1_000 * MICRO, tier: 'marketplace' })).toBe(1)
    expect(entitlement({ credits: 2_000 * MICRO, tier: 'contracted' })).toBe(8)
    expect(entitlement({ credits: 0, tier: 'marketplace' })).toBe(0.001)
  })
})
