import { expect, test } from 'vitest'
import { draws } from '../../../tools/draws.ts'
import { retained } from '../src/retention/retained.ts'

test.each(['sqlite', 'postgres'])(
  '6.6 on %s a store that keeps few of its tasks has no more of them, while tasks go through and passes meet, and verifies',
  async (store) => {
    const tasks = draws(4_000, 8_000, 40_000)
    const kept = tasks / 20
    const found = await retained({ tasks, kept, samples: 8, store })
    expect(found.samples.map(({ left }) => left)).toEqual(Array.from({ length: 8 }, () => kept))
    expect(found).toMatchObject({ faults: 0, verifiedTasks: kept })
  },
)
