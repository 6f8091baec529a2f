import { describe, expect, test } from 'vitest'
import { compose, defineComposition, edge } from '../../src/index.ts'
import { sweepCrashes } from '../../src/testing/index.ts'
import { plan, count } from './compose-scene.ts'

describe('composition of agents (docs/semantics.md 13.5)', () => {
  test('a crash at every commit: each agent and each edge runs once', async () => {
    const toCount = edge({ map: (parts: string[]) => parts.join() })
    const task = defineComposition({ type: 'both' }, compose(plan, toCount, count))
    await sweepCrashes({
      tasks: [plan, count, task],
      script: (it) => it.run(task, { topic: 'rain' }),
      check: (_, result) => expect(result).toBe(9),
    })
  })
})
