import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aheadByLane, aheadByShares, type QueuedStream } from '../../src/queue/ahead.ts'

const stream = (client: string, depth: number, more: Partial<QueuedStream> = {}): QueuedStream => ({
  laneRank: 1,
  client,
  depth,
  earlier: 0,
  increment: 10,
  place: 0,
  ...more,
})
const own = { laneRank: 1, client: 'own', place: 0 }

describe('the tasks before a queued one (docs/semantics.md C5, 11.2)', () => {
  test('are those of more urgent lanes, and those of its own that came before', () => {
    const streams = [
      stream('', 5, { laneRank: 0 }),
      stream('', 7, { earlier: 3 }),
      stream('', 9, { laneRank: 2, earlier: 4 }),
    ]
    expect(aheadByLane(own, streams)).toBe(8)
  })

  test('all tasks of a higher tier come before, none of a lower one', () => {
    const streams = [stream('own', 1), stream('high', 4), stream('low', 5)]
    const at = (tier: number) => ({ tier, time: 0 })
    const standings = new Map([
      ['own', at(1)],
      ['high', at(0)],
      ['low', at(2)],
    ])
    expect(aheadByShares(own, streams, standings, 'dispatch')).toBe(4)
  })

  test('the tasks of a client in more urgent lanes are charged before its turn comes in this one', () => {
    const streams = [
      stream('own', 1),
      stream('other', 3, { laneRank: 0 }),
      stream('other', 4, { earlier: 4 }),
      stream('other', 6, { laneRank: 2, earlier: 6 }),
    ]
    const standings = new Map([['own', { tier: 0, time: 15 }]])
    // Three go first and take it to 30, beyond 15; what is less urgent does not count.
    expect(aheadByShares(own, streams, standings, 'dispatch')).toBe(3)
  })

  test('the tasks ahead of a client that has nothing queued are those whose turn comes before its own would', () => {
    const streams = [stream('other', 4), stream('unknown', 1)]
    const standings = new Map([
      ['own', { tier: 0, time: 15 }],
      ['other', { tier: 0, time: 5 }],
    ])
    // At 5; at 15, when its own comes first by its sequence; and the one of a client that nobody has heard of, at 0.
    expect(aheadByShares(own, streams, standings, 'dispatch')).toBe(2)
  })

  test('by the places that were given when they were queued: those of its own client, and those placed before', () => {
    const at = (time: number) => ({ tier: 0, time })
    const placed = { ...own, place: 10 }
    const ahead = (...streams: readonly QueuedStream[]) =>
      aheadByShares(
        placed,
        streams,
        new Map([
          ['own', at(5)],
          ['before', at(9)],
          ['level', at(10)],
        ]),
        'enqueue',
      )
    expect(ahead(stream('own', 4, { earlier: 2, place: 5 }))).toBe(2)
    // No task has a place above what its client's time is now: all of them were placed before.
    expect(ahead(stream('before', 4, { earlier: 1 }), stream('before', 3))).toBe(7)
    // At the very same place it is the sequence that says which comes first.
    expect(ahead(stream('level', 4, { earlier: 1, place: 10 }), stream('level', 3, { earlier: 2 }))).toBe(3)
    expect(ahead(stream('level', 4, { earlier: 1, place: 11 }))).toBe(0)
  })

  test('are those that a drain starts before it, whatever times, increments and depths', () => {
    const client = fc.record({
      time: fc.integer({ min: 0, max: 40 }),
      increment: fc.integer({ min: 0, max: 8 }),
      depth: fc.integer({ min: 1, max: 6 }),
    })
    fc.assert(
      fc.property(fc.array(client, { minLength: 1, maxLength: 5 }), fc.nat(), (clients, seed) => {
        // Sequences are dealt in turns, so that every client has early and late ones.
        const tasks = clients.map((_, index) =>
          Array.from({ length: clients[index]?.depth ?? 0 }, (__, nth) => nth * 5 + ((index + seed) % 5)),
        )
        const mine = tasks[0] as number[]
        const nth = seed % mine.length
        const sequence = mine[nth] as number
        const streams = clients.map(({ depth, increment }, index) =>
          stream(String(index), depth, {
            increment,
            earlier: (tasks[index] as number[]).filter((other) => other < sequence).length,
          }),
        )
        const standings = new Map(clients.map(({ time }, index) => [String(index), { tier: 0, time }]))
        const said = aheadByShares({ ...own, client: '0' }, streams, standings, 'dispatch')
        expect(said).toBe(drainedBefore(clients, tasks, sequence))
      }),
      { numRuns: 500 },
    )
  })
})

/** How many start before the task of this sequence, one after the other, each charging its client. */
function drainedBefore(
  clients: readonly { readonly time: number; readonly increment: number }[],
  tasks: readonly (readonly number[])[],
  sequence: number,
): number {
  const times = clients.map(({ time }) => time)
  const left = tasks.map((queue) => [...queue])
  for (let started = 0; ; started++) {
    const open = left.flatMap(([head], index) =>
      head === undefined ? [] : [{ index, head, time: times[index] as number }],
    )
    const [first] = open.toSorted((a, b) => a.time - b.time || a.head - b.head)
    if (first === undefined || first.head === sequence) return started
    left[first.index]?.shift()
    times[first.index] = first.time + (clients[first.index]?.increment ?? 0)
  }
}
