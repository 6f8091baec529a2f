import { type Dimension, dimensions } from '@ku0/agent-runtime-core'
import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type EventOf } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

const ROUNDS = 100
const DROP_AT = 60
const hour = 3_600_000

/** What an agent's work is worth in a round: 0.85 and a little noise, which falls to 0.45 for one agent. */
function scoresIn(round: number, random: SeededRandom, falls: boolean): Record<Dimension, number> {
  const level = falls && round >= DROP_AT ? 0.45 : 0.85
  const entries = dimensions.map((dimension) => [dimension, level + (random.next() - 0.5) * 0.2])
  return Object.fromEntries(entries) as Record<Dimension, number>
}

test.each([1, 2, 3, 4, 5])(
  '15.3 over a hundred rounds, seed %i: reputation follows quality, and a drop is reported within two rounds, with no false alarm',
  async (seed) => {
    const random = new SeededRandom(`rounds ${seed}`)
    const review = defineTask({ type: 'review', input: z.number() }, async (ctx, round) => {
      for (const agentId of ['steady', 'falling'])
        await ctx.step(agentId, (step) =>
          place.runtime.evaluations.record(agentId, scoresIn(round, random, agentId === 'falling'), {
            taskId: ctx.taskId,
            key: step.idempotencyKey,
          }),
        )
      await ctx.sleep('until the next', hour)
    })
    const place = await createTestRuntime({ tasks: [review], seed })
    await using _ = place
    const { evaluations } = place.runtime
    const drifted: EventOf<'evaluation.drifted'>[] = []
    place.runtime.on('evaluation.drifted', (event) => drifted.push(event))
    const reputations: number[] = []
    for (let round = 1; round <= ROUNDS; round += 1) {
      await place.run(review, round)
      reputations[round] = (await evaluations.reputation('falling'))?.reputation ?? 0
    }
    const nearness = (round: number, level: number) => Math.abs((reputations[round] ?? 0) - level)
    expect(nearness(DROP_AT - 1, 0.85)).toBeLessThan(0.05)
    // (1 - alpha)^20 of the drop is left after twenty rounds: less than the noise.
    expect(nearness(DROP_AT + 20, 0.45)).toBeLessThan(0.05)
    expect(new Set(drifted.map(({ data }) => data.agentId))).toEqual(new Set(['falling']))
    const rounds = drifted.map(({ data }) => data.seq)
    expect(rounds[0]).toBeGreaterThanOrEqual(DROP_AT)
    expect(rounds[0]).toBeLessThanOrEqual(DROP_AT + 1)
    for (const { data } of drifted) expect(data.change).toBeLessThan(-0.2)
    expect((await evaluations.reputation('steady'))?.reputation).toBeCloseTo(0.85, 1)
    const [last] = await evaluations.history('falling', { limit: 1 })
    const [first] = (await evaluations.history('falling', { limit: ROUNDS })).slice(-1)
    expect([first?.seq, last?.seq]).toEqual([1, ROUNDS])
    expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual((ROUNDS - 1) * hour)
  },
)
