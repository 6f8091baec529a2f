import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { sweepCrashes } from '../../src/testing/index.ts'
import { twice } from './branch-keys-scene.ts'

describe('keys of branches that are decided (docs/semantics.md 7.3)', () => {
  test.each(Object.entries(twice))(
    '7.3 a crash after any commit changes nothing about %s',
    async (_, body) => {
      const task = defineTask({ type: 'twice', input: z.null() }, (ctx) =>
        body(ctx, async () => {}).catch((error: { code: string }) => error.code),
      )
      const report = await sweepCrashes({
        tasks: [task],
        script: async (it) => it.result(await it.runtime.submit(task, null)),
      })
      expect(report.commits).toBeGreaterThan(2)
    },
  )
})
