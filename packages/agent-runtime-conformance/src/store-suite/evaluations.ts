import { dimensions, domainWeights, type Scores, type OutcomeOf, type Write } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function evaluations({ rule, timed, expect }: Suite): void {
  /** The same score in every dimension: it is the composite too. */
  const flat = (value: number) =>
    Object.fromEntries(dimensions.map((dimension) => [dimension, value])) as Scores
  const judged = (agentId: string, value: number, more: Partial<Write<'evaluate'>> = {}) =>
    ({
      kind: 'evaluate',
      agentId,
      domain: 'default',
      weights: domainWeights.default,
      scores: flat(value),
      missing: [],
      ...more,
    }) as const
  const evaluate = (
    scene: Scene,
    agentId: string,
    value: number,
    more: Partial<Write<'evaluate'>> = {},
  ): Promise<OutcomeOf<'evaluate'>> => scene.write(judged(agentId, value, more))
  const reputation = (scene: Scene, agentId: string) => scene.read({ kind: 'reputation', agentId })
  const history = (scene: Scene, agentId: string, limit = 100, before?: number) =>
    scene.read({ kind: 'evaluations', agentId, limit, ...(before === undefined ? {} : { before }) })
  const isNear = (given: number | undefined, expected: number) =>
    expect(Math.abs((given ?? Number.NaN) - expected) < 1e-12, `${given} is ${expected}`).toBe(true)

  rule('15.3 an evaluation is kept as it was given, and the first is the reputation', async (scene) => {
    const scores = { quality: 0.87, adherence: 0.92, speed: 0.78, cost: 0.85, errors: 0.95, revisions: 0 }
    const told = await evaluate(scene, 'ada', 0, { scores, missing: ['revisions'], taskId: 't', key: 'k' })
    const [kept] = await history(scene, 'ada')
    expect(told).toEqual({ as: 'recorded', deduplicated: false, evaluation: kept })
    const { composite = 0, ...rest } = kept ?? {}
    isNear(composite, 0.8765 - 0.088)
    expect(rest).toEqual({
      agentId: 'ada',
      seq: 1,
      at: scene.now,
      domain: 'default',
      scores,
      missing: ['revisions'],
      reputation: composite,
      taskId: 't',
      key: 'k',
    })
    expect(await reputation(scene, 'ada')).toEqual({
      agentId: 'ada',
      reputation: composite,
      evaluations: 1,
      average: scores,
      latest: scores,
      lastAt: scene.now,
    })
  })

  rule(
    '15.3 the reputation is the moving average of all, folded in the order of the commits',
    async (scene) => {
      const composites = [0.8, 0.9, 0.7, 1, 0.6]
      const told = await Promise.all(composites.map((value) => evaluate(scene, 'ada', value)))
      const expected = [0.8, 0.83, 0.791, 0.8537, 0.77759]
      for (const [index, outcome] of told.entries())
        isNear(outcome.as === 'full' ? undefined : outcome.evaluation.reputation, expected[index] ?? 0)
      const standing = await reputation(scene, 'ada')
      isNear(standing?.reputation, 0.77759)
      isNear(standing?.average.speed, 0.8)
      expect(standing ?? {}).toMatchObject({ evaluations: 5, latest: flat(0.6) })
      expect((await history(scene, 'ada')).map(({ seq }) => seq)).toEqual([5, 4, 3, 2, 1])
    },
  )

  rule('15.3 agents are apart, and one that was never evaluated has nothing', async (scene) => {
    await evaluate(scene, 'ada', 0.9)
    await evaluate(scene, 'bob', 0.2)
    isNear((await reputation(scene, 'ada'))?.reputation, 0.9)
    isNear((await reputation(scene, 'bob'))?.reputation, 0.2)
    expect(await reputation(scene, 'eve')).toBeUndefined()
    expect(await history(scene, 'eve')).toEqual([])
    expect(
      await scene.read({ kind: 'similar', agentId: 'eve', weights: domainWeights.default, limit: 1 }),
    ).toBeUndefined()
  })

  rule('15.3 agents are listed by their names, page after page', async (scene) => {
    for (const agentId of ['eve', 'ada', 'bob', 'Zoe']) await evaluate(scene, agentId, 0.5)
    await evaluate(scene, 'ada', 0.9)
    const page = async (limit: number, after?: string) =>
      scene.read({ kind: 'agents', limit, ...(after === undefined ? {} : { after }) })
    expect((await page(3)).map(({ agentId }) => agentId)).toEqual(['Zoe', 'ada', 'bob'])
    expect((await page(3, 'bob')).map(({ agentId }) => agentId)).toEqual(['eve'])
    expect(await page(3, 'eve')).toEqual([])
    const [, ada] = await page(2)
    expect(ada).toEqual(await reputation(scene, 'ada'))
    expect(ada?.evaluations).toBe(2)
  })

  rule('15.3 how far an evaluation is from the average before it is kept with it', async (scene) => {
    for (const value of [0.8, 0.6]) await evaluate(scene, 'ada', value)
    await evaluate(scene, 'ada', 0.9)
    const [third, second, first] = await history(scene, 'ada')
    expect([first?.distance, first?.change]).toEqual([undefined, undefined])
    isNear(second?.distance, 0.2)
    isNear(second?.change, -0.2)
    isNear(third?.distance, 0.2)
    isNear(third?.change, 0.2)
  })

  rule('15.3 a key counts once: a repeated call gets the first answer', async (scene) => {
    const first = await evaluate(scene, 'ada', 0.9, { key: 'review 1' })
    await evaluate(scene, 'ada', 0.5)
    const [again, twice] = await Promise.all([
      evaluate(scene, 'ada', 0.9, { key: 'review 1' }),
      evaluate(scene, 'ada', 0.9, { key: 'review 1' }),
    ])
    expect(again).toEqual({ ...first, deduplicated: true })
    expect(twice).toEqual(again)
    const other = await evaluate(scene, 'bob', 0.9, { key: 'review 1' })
    expect(other).toMatchObject({ as: 'recorded', deduplicated: false })
    expect(await reputation(scene, 'ada')).toMatchObject({ evaluations: 2 })
  })

  rule('15.3 one of two calls with one key in one commit counts', async (scene) => {
    const { commits } = await scene.stats()
    const told = await Promise.all([
      evaluate(scene, 'ada', 0.9, { key: 'k' }),
      evaluate(scene, 'ada', 0.9, { key: 'k' }),
      evaluate(scene, 'ada', 0.8, { key: 'k' }),
    ])
    expect((await scene.stats()).commits).toBe(commits + 1)
    expect(told.map(({ as }) => as)).toEqual(['recorded', 'recorded', 'conflict'])
    expect(await history(scene, 'ada')).toHaveLength(1)
  })

  rule('15.3 a key that says something else is a conflict, and nothing is written', async (scene) => {
    await evaluate(scene, 'ada', 0.9, { key: 'k' })
    const before = await reputation(scene, 'ada')
    const others: Partial<Write<'evaluate'>>[] = [
      { scores: flat(0.8) },
      { domain: 'legal' },
      { taskId: 't' },
      { missing: ['cost'] },
    ]
    for (const more of others)
      expect(await evaluate(scene, 'ada', 0.9, { key: 'k', ...more })).toMatchObject({ as: 'conflict' })
    expect(await reputation(scene, 'ada')).toEqual(before)
  })

  rule('15.3 the history is read newest first, page by page', async (scene) => {
    for (let n = 1; n <= 5; n += 1) await evaluate(scene, 'ada', n / 10)
    const seqs = async (limit: number, before?: number) =>
      (await history(scene, 'ada', limit, before)).map(({ seq }) => seq)
    expect(await seqs(2)).toEqual([5, 4])
    expect(await seqs(2, 4)).toEqual([3, 2])
    expect(await seqs(2, 2)).toEqual([1])
    expect(await seqs(2, 1)).toEqual([])
  })

  rule(
    '15.3 the newest maxEvaluationsKept of an agent are kept; its reputation forgets none',
    async (scene) => {
      for (const value of [0.8, 0.9, 0.7, 1, 0.6]) await evaluate(scene, 'ada', value, { key: `k${value}` })
      await evaluate(scene, 'bob', 0.1)
      expect((await history(scene, 'ada')).map(({ seq }) => seq)).toEqual([5, 4])
      isNear((await reputation(scene, 'ada'))?.reputation, 0.77759)
      // The key of one that is not kept is free again.
      expect(await evaluate(scene, 'ada', 0.6, { key: 'k0.6' })).toMatchObject({ deduplicated: true })
      expect(await evaluate(scene, 'ada', 0.8, { key: 'k0.8' })).toMatchObject({ deduplicated: false })
      expect(await reputation(scene, 'ada')).toMatchObject({ evaluations: 6 })
      expect(await history(scene, 'bob')).toHaveLength(1)
    },
    { config: { maxEvaluationsKept: 2 } },
  )

  rule(
    '15.3 maxEvaluatedAgents bounds how many agents there are; those that are known go on',
    async (scene) => {
      const told = await Promise.all(['a', 'b', 'c', 'a'].map((agentId) => evaluate(scene, agentId, 0.5)))
      expect(told.map(({ as }) => as)).toEqual(['recorded', 'recorded', 'full', 'recorded'])
      expect(await evaluate(scene, 'd', 0.5)).toEqual({ as: 'full' })
      expect(await evaluate(scene, 'b', 0.5)).toMatchObject({ as: 'recorded' })
      expect(await reputation(scene, 'c')).toBeUndefined()
    },
    { config: { maxEvaluatedAgents: 2 } },
  )

  rule(
    '15.3 similar agents come nearest first, by their averages and the weights asked for',
    async (scene) => {
      const zero = flat(0)
      const all: [string, Scores[]][] = [
        [
          'target',
          [
            { ...zero, quality: 1, speed: 1 },
            { ...zero, quality: 0.8, speed: 0.8 },
          ],
        ],
        ['fast', [{ ...zero, quality: 0.1, speed: 0.9 }]],
        ['good', [{ ...zero, quality: 0.9, speed: 0.1 }]],
        // On average it is as the target, its latest is not.
        [
          'same',
          [
            { ...zero, quality: 0.8, speed: 1 },
            { ...zero, quality: 1, speed: 0.8 },
          ],
        ],
      ]
      for (const [agentId, judgements] of all)
        for (const scores of judgements) await evaluate(scene, agentId, 0, { scores })
      const nearest = async (weights: Partial<Scores>, limit = 10) => {
        const found = await scene.read({
          kind: 'similar',
          agentId: 'target',
          weights: { ...zero, ...weights },
          limit,
        })
        return found?.map(({ agentId }) => agentId)
      }
      expect(await nearest({ quality: 0.6, speed: 0.4 })).toEqual(['same', 'good', 'fast'])
      // Both have the target's average speed, the one to the last bit.
      expect((await nearest({ speed: 1 }))?.at(-1)).toBe('good')
      expect(await nearest({ quality: 0.6, speed: 0.4 }, 1)).toEqual(['same'])
    },
  )

  timed('15.3 an evaluation is dated by the store, and wakes or moves no task', async (scene) => {
    const taskId = await scene.accepted()
    const events = await scene.eventTypes(taskId)
    await scene.pass(1_000)
    await evaluate(scene, 'ada', 0.9, { taskId })
    expect((await history(scene, 'ada'))[0]).toMatchObject({ at: scene.now, taskId })
    expect(await scene.eventTypes(taskId)).toEqual(events)
  })
}
