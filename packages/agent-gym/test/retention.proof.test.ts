import { expect, onTestFinished, test } from 'vitest'
import { draws } from '../../../tools/draws.ts'
import { openStorePlace } from '../src/place/store-place.ts'
import { retained } from '../src/retention/retained.ts'

test.each(['sqlite', 'postgres'] as const)(
  '6.6 on %s a store that keeps few of its tasks has no more of them, while tasks go through and passes meet, and verifies',
  async (store) => {
    const tasks = draws(4_000, 8_000, 40_000)
    const kept = tasks / 20
    const place = await openStorePlace(store, undefined)
    onTestFinished(() => place.close())
    const found = await retained({ tasks, kept, samples: 8 }, place)
    expect(found.samples.map(({ left }) => left)).toEqual(Array.from({ length: 8 }, () => kept))
    expect(found).toMatchObject({ faults: 0, verifiedTasks: kept })
  },
)
