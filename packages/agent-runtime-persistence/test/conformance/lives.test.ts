import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forkingLifeOf, lifeOf, losingLifeOf, sharingLifeOf, spendingLifeOf } from '../model/model-lives.ts'
import { config, playLife, Real, sharingConfigs } from '../model/model-real.ts'
import { Transcripts } from './transcripts.ts'

const transcripts = new Transcripts(new URL('transcripts/lives.txt', import.meta.url))
const tools = transcripts.tools({ describe, test, expect })

/** By these seeds they are short. */
const lives = [
  ['of all sorts', lifeOf, 2, config],
  ['that spend their budgets', spendingLifeOf, 1, config],
  ['of tasks that are lost again and again', losingLifeOf, 1, config],
  ['of tasks that are forked again and again', forkingLifeOf, 2, config],
  ['of clients that share what slots there are', sharingLifeOf, 4, sharingConfigs[1] ?? config],
  ['of clients whose places are told when they are queued', sharingLifeOf, 8, sharingConfigs[4] ?? config],
] as const

tools.describe(
  'lives of a store that chance draws are as the reference model has them, and as was recorded',
  () => {
    for (const [title, kind, seed, given] of lives)
      tools.test(title, async () => {
        const real = new Real((own, environment) => transcripts.open({ config: own, environment }), given)
        for (const life of fc.sample(kind([]), { seed, numRuns: 1 })) await playLife(real, given, life)
      })
  },
)

test('every transcript is one of a life that there is', () => {
  expect(transcripts.strays).toEqual([])
})
