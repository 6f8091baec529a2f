import { ConfigError } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineMarketplace, defineTask, type Job, type RuntimeOptions } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { agents, judge } from './agents.ts'

const text = { input: z.string(), output: z.string() }
const terms = { ...text, agents, ranking: { exploration: 0 } }
const market = defineMarketplace({ name: 'market', ...terms, stages: { evaluate: judge } })
const ledger = { shares: { ledger: true, startCredits: 0 } } as const
const begun = (tasks: RuntimeOptions['tasks']) =>
  createTestRuntime({ tasks: [...(tasks ?? []), ...agents.tasks, judge], config: ledger })
const whyFailed = ({ message }: Error) => message.replace(/^task \S+ failed /, '')
const job = (it: Omit<Job<string>, 'work'> = {}): Job<string> => ({ work: 'clause 7', ...it })

describe('13.6 a marketplace', () => {
  test('13.6 gives a job to the best proposal, pays for the work by what it cost, and records how good it was', async () => {
    await using it = await begun([market])
    const { runtime } = it
    await runtime.credits.purchase('acme', 20, { key: 'order 1' })
    const receipt = await runtime.submit(
      market,
      job({ needs: ['read'], domain: 'legal', targetMs: 60_000 }),
      {
        client: 'acme',
        cost: 0,
      },
    )
    const { result, contract, cost, evaluation } = await it.result(receipt)
    expect(result).toBe('skimmed clause 7')
    expect(contract).toEqual({ agent: 'quick', price: 2, tier: 'marketplace', targetMs: 60_000 })
    expect(cost).toBe(1.5)
    // Legal weights: 0.35 x 0.9 + 0.25 x 0.8 + 0.4 for what was measured.
    expect(evaluation.composite).toBeCloseTo(0.915, 9)
    expect(await runtime.evaluations.reputation('quick')).toMatchObject({
      evaluations: 1,
      latest: { quality: 0.9, adherence: 0.8, speed: 1, cost: 1, errors: 1, revisions: 1 },
    })
    expect(await runtime.credits.balance('acme')).toMatchObject({ credits: 18.5, reserved: 0, spent: 1.5 })
    const kinds = (await runtime.credits.entries('acme')).map(({ kind, amount }) => [kind, amount])
    expect(kinds).toEqual([
      ['purchase', 20],
      ['reserve', -2],
      ['settle', 0],
      ['refund', 0.5],
    ])
  })

  test('13.6 takes a list of agents as well as a registry', async () => {
    const listed = defineMarketplace({ ...terms, name: 'listed', agents: agents.find() })
    await using it = await begun([listed])
    const { contract } = await it.run(listed, job({ domain: 'legal' }), { cost: 0 })
    expect(contract.agent).toBe('quick')
  })

  test('13.6 lets reputation, contracts and likeness decide', async () => {
    const known = defineMarketplace({
      name: 'known',
      ...terms,
      contracted: ['thorough'],
      ranking: { exploration: 0, weights: { weight: 0.5, similarity: 0.5 } },
    })
    const rated = defineMarketplace({
      name: 'rated',
      ...terms,
      ranking: { exploration: 0, weights: { weight: 1 }, beta: 2 },
    })
    await using it = await begun([known, rated])
    const { evaluations } = it.runtime
    expect((await it.run(known, job({ domain: 'legal' }))).contract.agent).toBe('thorough')
    for (const [agent, quality] of [
      ['quick', 0.9],
      ['thorough', 0.2],
      ['our best', 0.9],
    ] as const)
      await evaluations.record(agent, {
        quality,
        adherence: quality,
        speed: 1,
        cost: 1,
        errors: 1,
        revisions: 1,
      })
    expect((await it.run(rated, job({ domain: 'legal' }))).contract.agent).toBe('quick')
    const alike = defineMarketplace({
      name: 'alike',
      ...terms,
      ranking: { exploration: 0, weights: { similarity: 1 } },
    })
    await using other = await begun([alike])
    for (const [agent, quality] of [
      ['quick', 0.9],
      ['thorough', 0.2],
      ['a careful one', 0.3],
    ] as const)
      await other.runtime.evaluations.record(agent, { quality })
    const { contract } = await other.run(alike, job({ domain: 'legal', like: 'a careful one' }))
    expect(contract.agent).toBe('thorough')
  })

  test('13.6 asks a person before each contract under oversight, and takes the next proposal after a refusal', async () => {
    const watched = defineMarketplace({ name: 'watched', ...terms, oversight: 'supervised' })
    await using own = await begun([watched])
    const receipt = await own.runtime.submit(watched, job({ domain: 'legal' }))
    await own.settle()
    const [first] = (await own.runtime.approvals.list()).approvals
    expect(first).toMatchObject({ key: 'contract 1', artifact: { agent: 'quick', price: 2 } })
    expect(await own.runtime.explain(receipt)).toMatchObject({
      stage: 'contract',
      summary: "waits for the approval 'contract 1'",
    })
    await own.runtime.approvals.reject(first?.approvalId ?? '')
    await own.settle()
    const [second] = (await own.runtime.approvals.list()).approvals
    expect(second).toMatchObject({ key: 'contract 2', artifact: { agent: 'thorough' } })
    await own.runtime.approvals.approve(second?.approvalId ?? '')
    expect((await own.result(receipt)).contract).toMatchObject({ agent: 'thorough', price: 9 })

    const refused = await own.runtime.submit(watched, job({ needs: ['score'] }))
    await own.settle()
    await own.runtime.approvals.reject((await own.runtime.approvals.list()).approvals[0]?.approvalId ?? '')
    await expect(own.result(refused)).rejects.toMatchObject({ code: 'not_approved' })
  })

  test('13.6 fails where no agent fits, in the stage in which it is', async () => {
    await using it = await begun([market])
    const receipt = await it.runtime.submit(market, job({ needs: ['read', 'fly'], maxPrice: 5 }))
    await expect(it.result(receipt)).rejects.toThrow(
      'no agent has made a proposal for the job: needs read, fly, maxPrice 5',
    )
    expect(await it.runtime.explain(receipt)).toMatchObject({ state: 'failed', stage: 'proposal' })
    const done = await it.runtime.submit(market, job({ domain: 'legal' }))
    await it.result(done)
    expect(await it.runtime.explain(done)).not.toHaveProperty('stage')
  })

  test('13.6 judges work that failed, and a retry does it again', async () => {
    await using it = await begun([market])
    const receipt = await it.runtime.submit(market, job({ domain: 'repair' }))
    await expect(it.result(receipt)).rejects.toThrow('it broke')
    expect(await it.runtime.explain(receipt)).toMatchObject({ stage: 'execution' })
    expect(await it.runtime.evaluations.reputation('clumsy')).toMatchObject({
      evaluations: 1,
      latest: { quality: 0, adherence: 0, speed: 0, errors: 0, cost: 1, revisions: 1 },
    })
    const again = await it.runtime.retry(receipt)
    await expect(it.result(again)).rejects.toThrow('it broke')
    expect(await it.runtime.evaluations.reputation('clumsy')).toMatchObject({ evaluations: 2 })
  })

  test('13.6 stages of the program take the place of its own, and what they give is checked', async () => {
    const propose = defineTask({ type: 'propose', input: z.looseObject({}) }, () => [
      { agent: 'thorough', price: 6, capabilities: ['read', 'score'], tier: 'contracted' as const },
      { agent: 'quick', price: 900, capabilities: [], tier: 'marketplace' as const },
    ])
    const negotiate = defineTask(
      {
        type: 'negotiate',
        input: z.object({ job: z.looseObject({}), proposals: z.array(z.looseObject({ agent: z.string() })) }),
      },
      async (ctx, { proposals }) => {
        const price = await ctx.waitForSignal<number>('offer')
        return { agent: proposals[0]?.agent ?? '', price, tier: 'contracted' as const }
      },
    )
    const decompose = defineTask({ type: 'decompose', input: z.looseObject({}) }, () => ({
      parts: {
        skim: { agent: 'quick', cost: 1 },
        score: { agent: 'thorough', inputFrom: 'skim' },
      },
    }))
    const own = defineMarketplace({
      name: 'own',
      ...terms,
      stages: { propose, negotiate, decompose, evaluate: judge },
    })
    await using it = await begun([own, propose, negotiate, decompose])
    const { runtime } = it
    const agreed = async (price: number) => {
      const receipt = await runtime.submit(own, job({ maxPrice: 50 }), { client: 'acme', cost: 0 })
      await it.settle()
      const { stage, summary, children } = (await runtime.explain(receipt)) ?? {}
      expect(stage).toBe('contract')
      expect(summary).toContain("waits for the task of stage 'contract' (task ")
      await runtime.signal(children?.first[0]?.taskId ?? '', 'offer', price)
      return receipt
    }
    const { result, cost, contract } = await it.result(await agreed(5))
    expect(result).toBe('scored skimmed clause 7')
    expect(contract).toEqual({ agent: 'thorough', price: 5, tier: 'contracted' })
    // The second part has the rest of the price as its estimate.
    expect(cost).toBe(1.5 + 4)
    expect(await runtime.credits.balance('acme')).toMatchObject({ spent: 5.5, reserved: 0 })
    await expect(it.result(await agreed(51))).rejects.toThrow(
      "stage 'contract' of the job: a price of at most maxPrice 50; given 51",
    )
    await expect(it.result(await agreed(0.5))).rejects.toThrow(
      "stage 'decomposition' of the job: parts that cost no more than the price 0.5; they cost 1",
    )
  })

  test('13.6 a part for an agent that the marketplace has not is refused where the work is cut, unless the program does the work itself', async () => {
    const decompose = defineTask({ type: 'decompose', input: z.looseObject({}) }, () => ({
      parts: {
        skim: { agent: 'quick' },
        score: { agent: 'thorugh', after: ['skim'] },
        judge: { agent: 'judge', after: ['score'] },
      },
    }))
    const execute = defineTask({ type: 'execute', input: z.looseObject({}) }, () => 'done')
    const cut = defineMarketplace({ name: 'cut', ...terms, stages: { decompose } })
    const led = defineMarketplace({ name: 'led', ...terms, stages: { decompose, execute } })
    await using it = await begun([cut, led, decompose, execute])
    const receipt = await it.runtime.submit(cut, job({}))
    await expect(it.result(receipt)).rejects.toThrow(
      `stage 'decomposition' of the job: part 'judge' agent: an agent of the marketplace; given "judge"; part 'score' agent: an agent of the marketplace, did you mean thorough?; given "thorugh"`,
    )
    expect(await it.runtime.explain(receipt)).toMatchObject({ state: 'failed', stage: 'decomposition' })
    expect((await it.runtime.list({ types: ['quick'] })).tasks).toEqual([])
    expect((await it.run(led, job({}))).result).toBe('done')
  })

  test('13.6 the work may be done under a supervisor of the program', async () => {
    const execute = defineTask(
      {
        type: 'execute',
        input: z.object({
          job: z.object({ work: z.string() }),
          contract: z.looseObject({ agent: z.string() }),
          decomposition: z.looseObject({}),
        }),
      },
      async (ctx, { job: { work }, contract }) =>
        ctx.call('work', contract.agent, work, { cost: 3 }) as Promise<string>,
    )
    const own = defineMarketplace({ name: 'own', ...terms, stages: { execute } })
    await using it = await begun([own, execute])
    const { result, cost, evaluation } = await it.run(own, job({ needs: ['score'] }))
    expect(result).toBe('scored clause 7')
    expect(cost).toBe(3)
    // Only what was measured counts where nobody judges.
    expect(evaluation.composite).toBeCloseTo(1, 9)
  })

  test('13.6 the compiler refuses a stage that takes or gives something else than its place asks', () => {
    const takesNumber = defineTask({ type: 'takes', input: z.number() }, () => ({ quality: 1 }))
    const givesText = defineTask({ type: 'gives', input: z.looseObject({}) }, () => 'good')
    // @ts-expect-error -- it takes a number, and not what was executed.
    const one = defineMarketplace({ name: 'one', ...terms, stages: { evaluate: takesNumber } })
    // @ts-expect-error -- it gives a text, and not scores.
    const two = defineMarketplace({ name: 'two', ...terms, stages: { evaluate: givesText } })
    expect([one.type, two.type]).toEqual(['one', 'two'])
  })

  test('13.6 a judge gives scores from 0 to 1, and any other is refused with its value', async () => {
    const judging = async (...scores: readonly object[]) => {
      const judges = scores.map((score, at) =>
        defineTask({ type: `judge ${at}`, input: z.looseObject({}) }, () => score as { quality: number }),
      )
      const markets = judges.map((evaluate) =>
        defineMarketplace({ ...terms, name: `${evaluate.type} market`, stages: { evaluate } }),
      )
      await using it = await begun([...markets, ...judges])
      const told = []
      for (const each of markets)
        told.push(
          await it
            .run(each, job({ domain: 'legal' }), { cost: 0 })
            .then(({ evaluation }) => evaluation.scores.quality, whyFailed),
        )
      // A judgement that is refused counts for nobody.
      const { evaluations = 0 } = (await it.runtime.evaluations.reputation('quick')) ?? {}
      return [...told, evaluations]
    }
    const gave = (at: number, what: string) =>
      `(invalid_output): stage 'evaluation' of the job: judge 'judge ${at}' ${what}`
    expect(
      await judging({ quality: 85, adherence: -3 }, { quality: 1.01 }, { qualitty: 0.5 }, { quality: 1 }),
    ).toEqual([
      gave(
        0,
        "quality: a score from 0 to 1; given 85; judge 'judge 0' adherence: a score from 0 to 1; given -3",
      ),
      gave(1, 'quality: a score from 0 to 1; given 1.01'),
      gave(2, 'qualitty: no such option, did you mean quality?; given 0.5'),
      1,
      1,
    ])
  })

  test('13.6 a job that is paid is judged, also where its client is in debt then', async () => {
    const overcharging = defineAgent(
      { name: 'overcharging', capabilities: ['read'], domain: ['debt'], cost: 6, ...text },
      (ctx, work) =>
        ctx.step('read', (step) => {
          step.charge({ cost: 8 })
          return `read ${work}`
        }),
    )
    const indebting = defineMarketplace({
      ...terms,
      name: 'indebting',
      agents: [overcharging],
      stages: { evaluate: judge },
    })
    await using it = await createTestRuntime({
      tasks: [indebting, overcharging.task, judge],
      config: { shares: { ledger: true, outOfCredits: 'park', startCredits: 0 } },
    })
    await it.runtime.credits.purchase('acme', 6)
    const receipt = await it.runtime.submit(indebting, job(), { client: 'acme', cost: 0 })
    await it.settle()
    expect(await it.runtime.status(receipt)).toMatchObject({ state: 'completed' })
    expect(await it.runtime.credits.balance('acme')).toMatchObject({ credits: -2, spent: 8 })
  })

  test('13.6 only agents of the marketplace make proposals', async () => {
    const proposal = { price: 3, capabilities: ['read'], tier: 'marketplace' as const }
    const proposing = async (agent: string) => {
      const propose = defineTask({ type: 'propose', input: z.looseObject({}) }, () => [
        { agent, ...proposal },
      ])
      const asking = defineMarketplace({ ...terms, name: 'asking', stages: { propose } })
      await using it = await begun([asking, propose])
      return await it.run(asking, job(), { cost: 0 }).then(({ contract }) => contract.agent, whyFailed)
    }
    const refused = (what: string) =>
      `(invalid_output): stage 'proposal' of the job: proposal 1 agent: an agent of the marketplace${what}`
    expect(await proposing('qick')).toBe(refused(', did you mean quick?; given "qick"'))
    expect(await proposing('propose')).toBe(refused('; given "propose"'))
    expect(await proposing('quick')).toBe('quick')
  })

  test('13.6 a job that nobody gets says what was too dear, and what was probably meant', async () => {
    const priced = (...prices: readonly number[]) => {
      const names = ['quick', 'thorough', 'clumsy']
      const propose = defineTask({ type: 'propose', input: z.looseObject({}) }, () =>
        prices.map((price, at) => ({
          agent: names[at] ?? '',
          price,
          capabilities: [],
          tier: 'marketplace' as const,
        })),
      )
      return { propose, own: defineMarketplace({ ...terms, name: 'priced', stages: { propose } }) }
    }
    const failing = async ({ own, propose }: ReturnType<typeof priced>, it: Omit<Job<string>, 'work'>) => {
      await using at = await begun([own, propose])
      return await at.run(own, job(it), { cost: 0 }).then(() => 'done', whyFailed)
    }
    expect(await failing(priced(30), { maxPrice: 10 })).toBe(
      "(error): no agent has made a proposal for the job: maxPrice 10; 1 proposal, of 'quick' at 30, is above maxPrice 10",
    )
    expect(await failing(priced(30, 20.5, 40), { maxPrice: 10 })).toBe(
      "(error): no agent has made a proposal for the job: maxPrice 10; 3 proposals are above maxPrice 10, the lowest that of 'thorough' at 20.5",
    )
    await using it = await begun([market])
    await expect(it.run(market, job({ domain: 'leagl', needs: ['raed'] }))).rejects.toThrow(
      'no agent has made a proposal for the job: needs raed (did you mean read?), domain leagl (did you mean legal?)',
    )
    await expect(it.run(market, job({ domain: 'legal', maxPrice: 1 }))).rejects.toThrow(
      "domain legal, maxPrice 1; 2 proposals are above maxPrice 1, the lowest that of 'quick' at 2",
    )
  })

  test('13.6 an agent under contract is one of the marketplace', () => {
    const define = (more: object) => defineMarketplace({ ...terms, name: 'm', ...more })
    for (const given of [agents, agents.find()])
      expect(() => define({ agents: given, contracted: ['thorough', 'quik'] })).toThrow(
        `marketplace 'm': contracted: names of its agents, did you mean quick?; given "quik"`,
      )
    expect(() => define({ ranking: { contracted: ['quick'] } })).toThrow(
      "marketplace 'm': ranking.contracted: no such option, write contracted beside ranking, not in it; given",
    )
  })

  test('a definition or a job that is wrong is refused with all that is wrong with it', async () => {
    const wrong = {
      name: 'm',
      input: z.string(),
      output: 5,
      agents: [],
      ranking: { beta: -1 },
      isolation: 'thread',
    }
    expect(() => defineMarketplace(wrong as never)).toThrow(ConfigError)
    expect(() => defineMarketplace(wrong as never)).toThrow(
      /output: a schema.*\n.*agents: what createAgentRegistry.*\n.*isolation: no such option.*\n.*ranking\.beta: a number from 0 to 100/s,
    )
    expect(() => defineMarketplace({ ...terms, name: 'm', ranking: { weights: { price: 0.5 } } })).toThrow(
      'ranking.weights: numbers of 0 or more for capability, price, weight, similarity, which sum to 1',
    )
    await using it = await begun([market])
    const receipt = await it.runtime.submit(market, { work: 7, maxPrice: -1, speed: 1 } as never)
    expect(receipt).toMatchObject({ accepted: false, reason: 'invalid_payload' })
    expect((receipt as { message: string }).message).toMatch(
      /input\.speed: no such option.*input\.maxPrice: .*input\.work: /,
    )
  })
})
