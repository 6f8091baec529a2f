import { join } from 'node:path'
import { domainWeights, RuntimeError } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  createRuntime,
  defineTask,
  type Evaluations,
  type RecordedEvaluation,
  type RuntimeEvent,
} from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { folder } from '../real-processes.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const web = { quality: 0.87, adherence: 0.92, speed: 0.78, cost: 0.85, errors: 0.95, revisions: 0.88 }
const legal = { quality: 0.91, adherence: 0.95, speed: 0.65, cost: 0.72, errors: 0.88, revisions: 0.8 }

async function world(evaluation = {}, config = {}) {
  const { runtime, environment } = await virtualRuntime({ tasks: [], workers: 0, evaluation, config })
  const heard: RuntimeEvent[] = []
  runtime.on('evaluation.*', (event) => heard.push(event))
  return { runtime, evaluations: runtime.evaluations, heard, clock: environment.clock }
}

describe('an evaluation', () => {
  test('15.2 is recorded by the weights of its domain, and read back', async () => {
    const { evaluations, clock } = await world()
    const first = await evaluations.record('ada', web)
    expect(first).toMatchObject({
      agentId: 'ada',
      seq: 1,
      domain: 'default',
      missing: [],
      deduplicated: false,
    })
    expect(first.composite).toBeCloseTo(0.8765, 12)
    const second = await evaluations.record('ada', legal, { domain: 'legal', taskId: 'task 7', key: 'k' })
    expect(second.composite).toBeCloseTo(0.8725, 12)
    const { deduplicated: _, ...kept } = second
    expect(await evaluations.history('ada')).toEqual([kept, expect.objectContaining({ seq: 1 })])
    const standing = await evaluations.reputation('ada')
    expect(standing).toMatchObject({ agentId: 'ada', evaluations: 2, latest: legal, lastAt: clock.now() })
    expect(standing?.reputation).toBeCloseTo(0.3 * 0.8725 + 0.7 * 0.8765, 12)
    expect(standing?.average.speed).toBeCloseTo((0.78 + 0.65) / 2, 12)
  })

  test('15.3 names its agent among those that were judged', async () => {
    const { evaluations } = await world()
    expect(await evaluations.agents()).toEqual([])
    for (const agent of ['bob', 'ada', 'eve']) await evaluations.record(agent, web)
    expect(await evaluations.agents({ limit: 2 })).toEqual([
      await evaluations.reputation('ada'),
      await evaluations.reputation('bob'),
    ])
    expect((await evaluations.agents({ after: 'bob' })).map(({ agentId }) => agentId)).toEqual(['eve'])
    await expect(evaluations.agents({ limit: 0 })).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  test('C15 is normalised, unless it is said to be raw', async () => {
    const { evaluations } = await world()
    const measured = { ...web, errors: 0.05, revisions: 3 }
    const raw = await evaluations.record('ada', measured, { entry: 'raw', maxRevisions: 25 })
    expect(raw.composite).toBeCloseTo(0.8765, 12)
    expect(raw.scores.revisions).toBeCloseTo(0.88, 12)
    expect((await evaluations.record('bob', web, { entry: 'raw' })).composite).toBeCloseTo(0.6655, 12)
  })

  test('15.1 goes by weights of the runtime, or of the call', async () => {
    const support = { quality: 0.5, speed: 0.5 }
    const { evaluations } = await world({ domains: { support, legal: { cost: 1 } } })
    const one = await evaluations.record('ada', web, { domain: 'support' })
    expect([one.domain, one.composite]).toEqual(['support', (0.87 + 0.78) / 2])
    // One of the runtime's own takes the place of a known one.
    expect((await evaluations.record('ada', web, { domain: 'legal' })).composite).toBe(0.85)
    expect(await evaluations.record('ada', web, { weights: { errors: 1 } })).toMatchObject({
      domain: 'custom',
      composite: 0.95,
    })
    const weights = { revisions: 1 }
    expect(await evaluations.record('ada', web, { domain: 'toString', weights })).toMatchObject({
      domain: 'toString',
      composite: 0.88,
    })
  })

  test('15.4 says what is missing, or throws with strict', async () => {
    const { evaluations } = await world()
    const told = await evaluations.record('ada', { quality: 1.5 })
    expect(told).toMatchObject({ scores: { quality: 1, speed: 0 }, composite: 0.25 })
    expect(told.missing).toEqual(['adherence', 'speed', 'cost', 'errors', 'revisions'])
    await expect(evaluations.record('ada', { quality: 1 }, { strict: true })).rejects.toThrow(
      'scores.adherence: a number from 0 to 1; not given',
    )
    expect(await evaluations.reputation('ada')).toMatchObject({ evaluations: 1 })
  })

  test('15.3 with a key counts once, and a key of another is idempotency_conflict', async () => {
    const { evaluations, heard } = await world()
    const first = await evaluations.record('ada', web, { key: 'k' })
    const again = await evaluations.record('ada', web, { key: 'k' })
    expect(again).toEqual({ ...first, deduplicated: true })
    const other = evaluations.record('ada', legal, { key: 'k' })
    await expect(other).rejects.toMatchObject({
      code: 'idempotency_conflict',
      message: "the key 'k' belongs to evaluation 1 of agent 'ada', which has other content; use a new key",
    })
    expect(heard).toHaveLength(1)
  })

  test('15.3 one agent too many is limit_exceeded', async () => {
    const { evaluations } = await world({}, { maxEvaluatedAgents: 1 })
    await evaluations.record('ada', web)
    await expect(evaluations.record('bob', web)).rejects.toMatchObject({
      code: 'limit_exceeded',
      details: { agentId: 'bob', maxEvaluatedAgents: 1 },
    })
    expect(await evaluations.record('ada', web)).toMatchObject({ seq: 2 })
  })

  const wrong: [call: keyof Evaluations, args: unknown[], message: string][] = [
    [
      'record',
      ['', web],
      'evaluations.record: an agent\'s id of 1 to 255 characters, no lone surrogates; given ""',
    ],
    ['record', ['a'.repeat(256), web], "evaluations.record: an agent's id"],
    ['record', ['a\ud800', web], "evaluations.record: an agent's id"],
    ['record', [{ name: 'ada' }, web], "evaluations.record: an agent's id"],
    ['record', ['ada'], 'scores: an object with quality'],
    ['record', ['ada', {}], 'scores: at least one of quality'],
    ['record', ['ada', { qualty: 1 }], 'scores.qualty: no such dimension, did you mean quality?'],
    ['record', ['ada', { quality: Number.NaN }], 'scores.quality: a finite number; given NaN'],
    ['record', ['ada', { quality: '1' }], 'scores.quality: a finite number; given "1"'],
    [
      'record',
      ['ada', web, { domian: 'x' }],
      'evaluations.record option domian: no such option, did you mean domain?',
    ],
    [
      'record',
      ['ada', web, { domain: 'legl' }],
      'option domain: a known domain, or one given together with weights; given "legl", did you mean legal?',
    ],
    ['record', ['ada', web, { domain: 'toString' }], 'option domain: a known domain'],
    ['record', ['ada', web, { domain: '' }], 'option domain: 1 to 255 characters'],
    [
      'record',
      ['ada', web, { weights: { quality: 0.9 } }],
      'option weights: weights that sum to 1; the given ones sum to 0.9',
    ],
    ['record', ['ada', web, { weights: null }], 'option weights: an object with quality'],
    ['record', ['ada', web, { entry: 'normal' }], 'option entry: raw | normalised; given "normal"'],
    ['record', ['ada', web, { maxRevisions: 3 }], "option maxRevisions: only with entry 'raw'"],
    [
      'record',
      ['ada', web, { entry: 'raw', maxRevisions: 0 }],
      'option maxRevisions: a finite number above 0',
    ],
    ['record', ['ada', web, { key: 5 }], 'option key: 1 to 255 characters'],
    ['record', ['ada', web, { taskId: '' }], 'option taskId: 1 to 255 characters'],
    ['record', ['ada', web, { strict: 1 }], 'option strict: true or false'],
    ['record', ['ada', web, 'legal'], 'evaluations.record options: an object with entry'],
    ['reputation', [undefined], "evaluations.reputation: an agent's id"],
    ['history', [5], "evaluations.history: an agent's id"],
    ['history', ['ada', { limit: 0 }], 'option limit: a whole number from 1 to 1000; given 0'],
    ['history', ['ada', { before: 1.5 }], 'option before: a whole number'],
    ['similar', ['ada', { limit: 1_001 }], 'option limit: a whole number from 1 to 1000'],
    ['similar', ['ada', { domain: 'x' }], 'evaluations.similar option domain: a known domain'],
    [
      'similar',
      ['ada', { weights: { cost: 2 } }],
      'evaluations.similar option weights: weights that sum to 1; the given ones sum to 2',
    ],
    ['drift', ['ada', { threshold: 0 }], 'option threshold: a number above 0, up to 1; given 0'],
    ['drift', ['ada', { treshold: 1 }], 'option treshold: no such option, did you mean threshold?'],
  ]
  test.each(wrong)('15.4 %s(%j) is invalid_argument, and nothing is stored', async (call, args, message) => {
    const { evaluations, runtime, heard } = await world()
    const before = await runtime.stats()
    const thrown = (evaluations[call] as (...args: unknown[]) => Promise<unknown>)(...args)
    const error = (await thrown.catch((it: unknown) => it)) as RuntimeError
    expect(error).toBeInstanceOf(RuntimeError)
    expect(error.code).toBe('invalid_argument')
    expect(error.message).toContain(message)
    expect((await runtime.stats()).commits).toBe(before.commits)
    expect(heard).toEqual([])
  })

  test('a call on a runtime that was stopped is refused as every call is', async () => {
    const runtime = await createRuntime({
      store: 'sqlite::memory:',
      thread: false,
      tasks: [],
      telemetry: false,
      logger: false,
    })
    await runtime.stop()
    await expect(runtime.evaluations.record('ada', web)).rejects.toMatchObject({ code: 'store_closed' })
    await expect(runtime.evaluations.reputation('ada')).rejects.toMatchObject({ code: 'store_closed' })
  })

  test('15.3 in a step that is run again counts once', async () => {
    const told: RecordedEvaluation[] = []
    const judge = defineTask({ type: 'judge', input: z.string() }, (ctx, agentId) =>
      ctx.step('judge', { retry: { attempts: 3 } }, async (step) => {
        const key = step.idempotencyKey
        told.push(await place.runtime.evaluations.record(agentId, web, { taskId: ctx.taskId, key }))
        if (told.length < 3) throw new Error('lost before the step was recorded')
      }),
    )
    const place = await createTestRuntime({ tasks: [judge] })
    await using _ = place
    const receipt = await place.runtime.submit(judge, 'ada')
    await place.result(receipt)
    expect(told.map(({ seq, deduplicated }) => [seq, deduplicated])).toEqual([
      [1, false],
      [1, true],
      [1, true],
    ])
    expect(await place.runtime.evaluations.history('ada')).toMatchObject([{ seq: 1, taskId: receipt.taskId }])
  })
})

describe('an agent that was evaluated', () => {
  test('15.3 is in the store: another runtime on the file goes on where the first stopped', async () => {
    const options = {
      store: `sqlite:${join(folder(), 'store.db')}`,
      thread: false,
      tasks: [],
      workers: 0,
      telemetry: false,
      logger: false,
    } as const
    const first = await createRuntime(options)
    await first.evaluations.record('ada', web)
    await first.stop()
    await using second = await createRuntime(options)
    expect((await second.evaluations.reputation('ada'))?.reputation).toBeCloseTo(0.8765, 12)
    expect(await second.evaluations.record('ada', web)).toMatchObject({ seq: 2 })
  })

  test('15.3 finds those that are like it; nobody is like one that was never evaluated', async () => {
    const { evaluations } = await world({ domains: { fast: { speed: 1 } } })
    const security = {
      quality: 0.83,
      adherence: 0.89,
      speed: 0.82,
      cost: 0.79,
      errors: 0.91,
      revisions: 0.85,
    }
    for (const [name, scores] of Object.entries({ web, legal, security }))
      await evaluations.record(name, scores)
    const found = await evaluations.similar('web')
    expect(found.map(({ agentId }) => agentId)).toEqual(['security', 'legal'])
    expect(found[0]?.distance).toBeCloseTo(0.04111, 6)
    expect(found[1]?.distance).toBeCloseTo(0.083815, 6)
    expect(found[0]).toMatchObject({ evaluations: 1, average: security })
    expect(await evaluations.similar('legal', { limit: 1 })).toMatchObject([{ agentId: 'web' }])
    expect((await evaluations.similar('web', { domain: 'fast' }))[0]?.distance).toBeCloseTo(0.04, 12)
    expect((await evaluations.similar('web', { weights: domainWeights.legal }))[0]).toMatchObject({
      agentId: 'security',
    })
    await expect(evaluations.similar('eve')).rejects.toMatchObject({
      code: 'not_found',
      message: "agent 'eve' has no evaluations",
    })
  })

  test('15.3 never evaluated, it has no reputation, no history and no drift', async () => {
    const { evaluations } = await world()
    expect(await evaluations.reputation('eve')).toBeUndefined()
    expect(await evaluations.history('eve')).toEqual([])
    expect(await evaluations.drift('eve')).toBeUndefined()
  })

  test('15.3 has a history that is read page by page', async () => {
    const { evaluations } = await world()
    for (let n = 0; n < 5; n += 1) await evaluations.record('ada', web)
    const [, second] = await evaluations.history('ada', { limit: 2 })
    const page = await evaluations.history('ada', { limit: 2, before: second?.seq ?? 0 })
    expect(page.map(({ seq }) => seq)).toEqual([3, 2])
  })
})

describe('drift', () => {
  const flat = (value: number) => ({
    quality: value,
    adherence: value,
    speed: value,
    cost: value,
    errors: value,
    revisions: value,
  })

  test('15.3 is a distance from the average before it that is above the threshold', async () => {
    const { evaluations } = await world()
    await evaluations.record('ada', flat(0.75))
    expect(await evaluations.drift('ada')).toMatchObject({ drifted: false, distance: 0, threshold: 0.2 })
    await evaluations.record('ada', flat(0.5))
    const drift = await evaluations.drift('ada')
    expect(drift).toMatchObject({ agentId: 'ada', drifted: true, latest: { seq: 2 } })
    expect(drift?.distance).toBeCloseTo(0.25, 12)
    expect(drift?.change).toBeCloseTo(-0.25, 12)
    expect(await evaluations.drift('ada', { threshold: 0.3 })).toMatchObject({
      drifted: false,
      threshold: 0.3,
    })
    // It got better: that is a departure too, and its change says so.
    await evaluations.record('ada', flat(1))
    const better = await evaluations.drift('ada')
    expect([better?.drifted, (better?.change ?? 0) > 0]).toEqual([true, true])
  })

  test('15.3 is published after each evaluation that drifted, and every evaluation is', async () => {
    const { evaluations, heard } = await world({ driftThreshold: 0.3 })
    await evaluations.record('ada', flat(0.9), { taskId: 'task 1' })
    await evaluations.record('ada', flat(0.7))
    await evaluations.record('ada', flat(0.3), { taskId: 'task 3' })
    expect(heard.map(({ type, taskId, seq }) => [type, taskId, seq])).toEqual([
      ['evaluation.recorded', 'task 1', 0],
      ['evaluation.recorded', '', 0],
      ['evaluation.recorded', 'task 3', 0],
      ['evaluation.drifted', 'task 3', 0],
    ])
    const [latest] = await evaluations.history('ada')
    expect(heard.at(-1)?.data).toEqual({ ...latest, threshold: 0.3 })
    expect(heard[2]?.data).toEqual(latest)
  })
})
