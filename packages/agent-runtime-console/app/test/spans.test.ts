import { expect, test } from 'vitest'
import { spansOf } from '../src/pages/task/spans.ts'

test('each attempt is drawn with its lease, also where the lease ran out before anybody wrote the end', () => {
  const events = [
    ['task.queued', 0, {}],
    ['task.started', 100, { attempt: 1, fencingToken: 7, workerId: 'a' }],
    // Its worker died. Another one starts within the same ms as the end of the lease.
    ['task.started', 5_000, { attempt: 2, fencingToken: 9, workerId: 'b' }],
  ] as const
  const leases = [
    { fencingToken: 9, status: 'running', acquiredAt: 5_000, expiresAt: 35_000 },
    {
      fencingToken: 7,
      status: 'failed',
      acquiredAt: 100,
      expiresAt: 4_000,
      endedAt: 4_900,
      endReason: 'expired',
    },
    // A lease whose start is not among the events that were read.
    { fencingToken: 3, status: 'completed', acquiredAt: 1, expiresAt: 2, endedAt: 2 },
  ]
  const spans = spansOf(
    events.map(([type, at, data], seq) => ({ type, at, seq, data })) as unknown as Parameters<
      typeof spansOf
    >[0],
    leases as unknown as Parameters<typeof spansOf>[1],
  )
  const attempts = spans.filter(({ kind }) => kind === 'attempt')
  expect(attempts.map(({ name, from, to, lease }) => [name, from, to, lease])).toEqual([
    ['attempt 1', 100, 4_900, { from: 100, to: 4_900, words: 'lease 7, expired' }],
    ['attempt 2', 5_000, undefined, { from: 5_000, to: 35_000, words: 'lease 9, live' }],
  ])
})
