import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { gate, turns, virtualRuntime } from '../virtual-runtime.ts'

const agent = defineTask({ type: 'agent', input: z.string() }, async (ctx, topic) => {
  await ctx.heartbeat({ computeUs: 10 })
  return `about ${topic}`
})

describe('swarms (docs/semantics.md 10.6)', () => {
  test.each([
    [{ profile: 'HUGE' }, 'LIGHT | STANDARD'],
    [{ maxAgents: 0 }, 'maxAgents'],
    [{ threshold: 0 }, 'a number above 0, at most 1'],
    [{ threshold: 1.1 }, 'a number above 0, at most 1'],
    [{ sharedBudget: { cpu: 1 } }, 'sharedBudget.cpu: no such option'],
    [{ sharedBudget: { totalCpuTimeUs: -1 } }, 'sharedBudget.totalCpuTimeUs'],
    [
      { limits: { soft: { cpuTimeUs: 2 }, hard: { cpuTimeUs: 1 } }, profile: 'HEAVY' },
      'at most the hard limit',
    ],
    [
      { limits: { hard: { memoryBytes: -1 } } },
      'createSwarm option limits.hard.memoryBytes: a whole number of bytes',
    ],
  ])('bad settings are refused: %j', async (options, message) => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    await expect(runtime.createSwarm('ai', options as never)).rejects.toThrow(message)
    expect(await runtime.swarms()).toEqual([])
  })

  test('10.6 agents are tasks of the queue, held to the swarm’s profile, or leases of their callers', async () => {
    const { runtime } = await virtualRuntime({ tasks: [agent] })
    const swarm = await runtime.createSwarm('ai', { profile: 'HEAVY', sharedBudget: { totalCpuTimeUs: 100 } })
    const receipt = await swarm.spawnAgent('one', { task: agent, input: 'bees' })
    expect(await runtime.result(receipt)).toBe('about bees')
    expect(await runtime.status(receipt.taskId)).toMatchObject({
      swarm: 'ai',
      agent: 'one',
      profile: { profile: 'HEAVY' },
    })
    const lease = await swarm.spawnAgent('two')
    expect(lease).toMatchObject({ profile: 'HEAVY', routeId: 'ai' })
    await lease.heartbeat({ computeUs: 40 })
    expect(lease.budget()).toMatchObject({ cpuTimeUs: 50 })
    expect(await swarm.status()).toMatchObject({ spawned: 2, rest: { cpuTimeUs: 50 } })
    await expect(swarm.spawnAgent('two')).rejects.toMatchObject({ code: 'already_exists' })
    await lease.release()
  })

  test('10.6 an agent that is a task has an account like any submission: client, budget, quotas, key', async () => {
    const spender = defineTask({ type: 'spender', input: z.number() }, async (ctx, tokens) => {
      for (const key of ['a', 'b']) await ctx.step(key, (step) => step.charge({ tokens, cost: tokens }))
      return ctx.waitForSignal('go')
    })
    const { runtime, elapse } = await virtualRuntime({
      tasks: [spender],
      config: {
        shares: {},
        quotaConfig: {
          models: { large: { tokensPerWindow: 100 } },
          defaults: { labels: { team: { maxInFlight: 1 } } },
        },
      },
    })
    const swarm = await runtime.createSwarm('ai', { profile: 'HEAVY' })
    const spawn = (id: string, input: number, options = {}) =>
      swarm.spawnAgent(id, { task: spender, input, ...options })
    const account = {
      client: 'bob',
      labels: { team: 'red' },
      model: 'large',
      tools: ['search'],
      tokens: 60,
      cost: 7,
      budget: { tokens: 50 },
      idempotencyKey: 'one',
    }
    const one = await spawn('one', 20, account)
    expect(await runtime.status(one)).toMatchObject({
      swarm: 'ai',
      agent: 'one',
      profile: { profile: 'HEAVY' },
      client: 'bob',
      labels: { team: 'red' },
      model: 'large',
      budget: { taskId: one.taskId, limits: { tokens: 50 } },
    })
    expect(await spawn('two', 20, { model: 'large', tokens: 60 })).toMatchObject({ reason: 'quota_exceeded' })
    await elapse(100)
    expect(await runtime.budgets.get(one.taskId)).toMatchObject({
      used: { tokens: 40 },
      left: { tokens: 10 },
    })
    const held = await swarm.spawnAgent('held', { labels: { team: 'red' } })
    expect(await runtime.status(held.taskId)).toMatchObject({ labels: { team: 'red' } })
    await expect(swarm.spawnAgent('more', { labels: { team: 'red' } })).rejects.toMatchObject({
      reason: 'quota_exceeded',
    })
    await held.release()
    // The key stands for the first agent, whoever asks.
    expect(await spawn('other', 20, account)).toMatchObject({ taskId: one.taskId, deduplicated: true })
    expect((await swarm.status()).agents).toMatchObject([{ agent: 'one' }])
    await runtime.signal(one, 'go')
    await elapse(100)
    expect(await runtime.clients.get('bob')).toMatchObject({ spent: 40 })
    const over = await spawn('over', 30, { budget: { tokens: 50 } })
    await elapse(100)
    await expect(runtime.result(over)).rejects.toMatchObject({
      kind: 'budget_exceeded',
      details: { budget: over.taskId, used: 60 },
    })
  })

  test('8.8, 10.6 the timeoutMs of an agent is its deadline, where the profile allows more', async () => {
    const slow = defineTask(
      { type: 'slow', input: z.null() },
      ({ signal }) =>
        new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        }),
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [slow] })
    const swarm = await runtime.createSwarm('ai', { profile: 'HEAVY' })
    const late = await swarm.spawnAgent('late', { task: slow, input: null, timeoutMs: 50 })
    await elapse(100)
    await expect(runtime.result(late)).rejects.toMatchObject({ kind: 'timeout' })
  })

  test.each([
    ['spawnAgent option client', { task: agent, input: 'x', client: '' }],
    ['spawnAgent option budget.token: no such field', { task: agent, input: 'x', budget: { token: 1 } }],
    ['spawnAgent option tokens', { task: agent, input: 'x', tokens: -1 }],
    ['spawnAgent option delayMs: no such option', { task: agent, input: 'x', delayMs: 5 }],
    ['spawnAgent option client: no such option', { client: 'bob' }],
    ['spawnAgent option budget: no such option', { budget: { tokens: 1 } }],
  ])('10.6 a share that an agent cannot have is refused by name: %s', async (message, options) => {
    const { runtime } = await virtualRuntime({ tasks: [agent] })
    const swarm = await runtime.createSwarm('ai')
    await expect(swarm.spawnAgent('one', options as never)).rejects.toThrow(message)
    expect((await swarm.status()).spawned).toBe(0)
  })

  test('10.6 an agent that is shed gets its signal, and a full swarm is in the receipt', async () => {
    const { runtime } = await virtualRuntime({ tasks: [agent], workers: 0 })
    const swarm = await runtime.createSwarm('ai', { profile: 'HEAVY', maxAgents: 3, threshold: 0.3 })
    const first = await swarm.spawnAgent('first')
    const low = await swarm.spawnAgent('low', { lane: 'batch' })
    const queued = await swarm.spawnAgent('queued', { task: agent, input: 'x', lane: 'batch' })
    expect(await swarm.spawnAgent('more', { task: agent, input: 'x' })).toMatchObject({
      accepted: false,
      reason: 'swarm_full',
    })
    await first.heartbeat({ memoryUsed: 1e12 })
    await low.heartbeat({ memoryUsed: 1e12 })
    expect(await runtime.status(queued.taskId)).toMatchObject({ state: 'canceled' })
    await first.heartbeat()
    await turns()
    expect(low.signal.reason).toMatchObject({ code: 'task_canceled' })
    expect(first.signal.aborted).toBe(false)
    expect(await swarm.spawnAgent('late', { task: agent, input: 'x' })).toMatchObject({
      reason: 'swarm_overloaded',
    })
    expect(await swarm.status()).toMatchObject({ circuit: 'open', agents: [{ agent: 'first' }] })
    await low.release()
    await first.release()
  })

  test('10.6 a share is a promise: it is held to it, and others are not given it', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    const swarm = await runtime.createSwarm('ai', { sharedBudget: { totalMemoryBytes: 100 } })
    const promised = await swarm.spawnAgent('promised', { share: { memoryBytes: 80 } })
    const other = await swarm.spawnAgent('other')
    expect([promised.budget(), other.budget()].map(({ memoryBytes }) => memoryBytes)).toEqual([80, 20])
    await expect(swarm.spawnAgent('greedy', { share: { memoryBytes: 21 } })).rejects.toMatchObject({
      reason: 'budget_exceeded',
    })
    await expect(swarm.spawnAgent('odd', { share: { memory: 1 } as never })).rejects.toThrow('share.memory')
    await expect(promised.heartbeat({ memoryUsed: 81 })).rejects.toMatchObject({ code: 'budget_exceeded' })
    expect(promised.signal.aborted).toBe(true)
    await Promise.all([promised.release(), other.release()])
    // Its own share was its own fault, and its route's: the circuit is named, and an error of its own.
    await expect(swarm.spawnAgent('late')).rejects.toMatchObject({
      code: 'circuit_open',
      reason: 'circuit_open',
    })
  })

  test('10.6 it is a record of the store: the same settings join it, others are refused, closing it cancels', async () => {
    const door = gate()
    const slow = defineTask({ type: 'slow', input: z.null() }, () => door.promise)
    const { runtime } = await virtualRuntime({ tasks: [slow] })
    const swarm = await runtime.createSwarm('ai', { name: 'mine', maxAgents: 2 })
    const receipt = await swarm.spawnAgent('one', { task: slow, input: null })
    const joined = await runtime.createSwarm('ai', { name: 'mine', maxAgents: 2 })
    expect((await joined.status()).agents).toMatchObject([{ agent: 'one', taskId: receipt.taskId }])
    await expect(runtime.createSwarm('ai', { name: 'mine' })).rejects.toMatchObject({
      code: 'already_exists',
    })
    expect(await joined.close()).toBe(true)
    expect(await swarm.close()).toBe(false)
    expect(await runtime.status(receipt.taskId)).toMatchObject({ state: 'canceled' })
    await expect(swarm.status()).rejects.toMatchObject({ code: 'not_found' })
    const gone = { code: 'not_found', message: "the swarm 'mine' does not exist any more; create it again" }
    await expect(swarm.spawnAgent('two')).rejects.toMatchObject(gone)
    await expect(swarm.spawnAgent('two', { task: slow, input: null })).rejects.toMatchObject(gone)
    door.resolve()
  })
})

describe('routes of un-leased work (docs/semantics.md 10.1-10.3)', () => {
  test('10.1 LIGHT by default, what was set for the route, or what the call names', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    expect(await runtime.route('a', { latencyMs: 10 })).toMatchObject({ profile: 'LIGHT', pressure: 0 })
    runtime.setRouteProfile('a', 'STANDARD')
    expect(await runtime.route('a', { latencyMs: 90 })).toMatchObject({ profile: 'STANDARD', scar: 0 })
    expect(await runtime.route('a', { latencyMs: 4_000 }, { profile: 'HEAVY' })).toMatchObject({
      profile: 'HEAVY',
      scar: 0,
      admitted: true,
    })
  })

  test('10.3 resistance is shown and refuses nothing: memory far above its baseline is admitted', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    const verdict = await runtime.route('a', { latencyMs: 1, memoryBytes: 1e9, computeUs: 1e9 })
    expect(verdict).toMatchObject({ admitted: true, scar: 0, vector: { memory: 1, compute: 1 } })
    expect(verdict.resistance).toBeCloseTo(Math.sqrt(2 / 3))
    expect(await runtime.routes()).toMatchObject([
      { route: 'a', circuit: 'closed', telemetry: { latencyMs: 1 }, pressure: verdict.pressure },
    ])
  })

  test('bad arguments are refused by name', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    await expect(runtime.route('a', { latency: 1 } as never)).rejects.toThrow('did you mean latencyMs?')
    await expect(runtime.route('', {})).rejects.toThrow('a route has')
    await expect(runtime.route('$ku0/x')).rejects.toThrow('reserved for the runtime')
    await expect(runtime.route('a', {}, { profile: 'HUGE' as never })).rejects.toThrow('LIGHT | STANDARD')
    expect(() => runtime.setRouteProfile('a', undefined as never)).toThrow('profile')
  })
})
