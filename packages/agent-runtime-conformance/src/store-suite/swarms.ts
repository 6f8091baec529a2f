import type { SwarmTerms, Submission } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'
import { hold, report, startLease, termsOf } from './workload.ts'

export function swarms({ rule, timed, expect }: Suite): void {
  const terms = termsOf()
  const create = (scene: Scene, change: Partial<SwarmTerms> = {}) =>
    scene.write({
      kind: 'putSwarm',
      name: 'research',
      terms: { route: 'work', terms, maxAgents: 10, sharedBudget: {}, threshold: 0.8, ...change },
    })
  const agent = (name: string, change: Partial<Submission> = {}): Partial<Submission> => ({
    swarm: 'research',
    agent: name,
    profile: terms,
    ...change,
  })
  const swarm = async (scene: Scene) => (await scene.read({ kind: 'swarms', name: 'research' }))[0]
  /** Something that presses so much: only memory counts at time 0. */
  const pressing = (pressure: number) => ({
    memoryBytes: Math.round(8e9 * (1 + Math.atanh(pressure * Math.sqrt(3)))),
  })

  rule('10.6 the eleventh of ten is swarm_full, until one has ended', async (scene) => {
    expect(await create(scene)).toEqual({ as: 'created' })
    const held = await Promise.all(Array.from({ length: 10 }, (_, n) => hold(scene, agent(`a${n}`))))
    expect(await startLease(scene, agent('eleventh'))).toMatchObject({
      as: 'refused',
      receipt: { reason: 'swarm_full' },
    })
    await scene.write({
      kind: 'settle',
      leaseId: held[0]?.leaseId ?? '',
      settlement: { as: 'completed', output: 'null' },
    })
    expect(await startLease(scene, agent('eleventh'))).toMatchObject({ as: 'started' })
    expect(await swarm(scene)).toMatchObject({ spawned: 11 })
    expect((await swarm(scene))?.agents.map((it) => it.agent).slice(-2)).toEqual(['a9', 'eleventh'])
  })

  rule('10.6 agents may be tasks of the queue, beside those that their callers hold', async (scene) => {
    await create(scene)
    const taskId = await scene.accepted(agent('queued', { type: 'other' }))
    await hold(scene, agent('held'))
    expect(await scene.task(taskId)).toMatchObject({ swarm: 'research', agent: 'queued' })
    expect((await swarm(scene))?.agents).toMatchObject([{ agent: 'queued', taskId }, { agent: 'held' }])
    await scene.cancel(taskId)
    expect((await swarm(scene))?.agents).toMatchObject([{ agent: 'held' }])
  })

  timed('10.6, 12.3 an agent that fails because nobody approved gives its place back', async (scene) => {
    await create(scene, { maxAgents: 1 })
    const { leaseId } = await scene.running(agent('one'))
    const approval = {
      artifact: '{"text":"plan"}',
      mode: 'supervised',
      asked: true,
      maxRetries: 3,
      onReject: 'rerun',
      onTimeout: 'fail',
    } as const
    await scene.write({
      kind: 'suspend',
      leaseId,
      waits: [{ key: 'plan', position: 0, kind: 'approval', delayMs: 1_000, approval }],
      stay: false,
    })
    expect(await scene.submit(agent('two'))).toMatchObject({ reason: 'swarm_full' })
    await scene.pass(1_000)
    expect(await swarm(scene)).toMatchObject({ agents: [] })
    expect(await scene.submit(agent('two'))).toMatchObject({ accepted: true })
  })

  rule('12.0 an agent’s name is taken as long as it lives', async (scene) => {
    await create(scene)
    const { taskId, leaseId } = await hold(scene, agent('one'))
    expect(await scene.submit(agent('one'))).toMatchObject({ reason: 'already_exists', taskId })
    await scene.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } })
    expect(await scene.submit(agent('one'))).toMatchObject({ accepted: true })
  })

  rule('10.6 the pressure is the mean of the agents’, with the maximum beside it', async (scene) => {
    await create(scene)
    for (const pressure of [0.1, 0.2, 0.5])
      await report(scene, await hold(scene, agent(`p${pressure}`)), pressing(pressure))
    const { pressure } = (await swarm(scene)) ?? {}
    expect(pressure?.mean).toBeCloseTo(0.8 / 3)
    expect(pressure?.max).toBeCloseTo(0.5)
  })

  timed(
    '10.6 above the threshold the lowest lane goes first, the youngest of it, and nobody is spawned',
    async (scene) => {
      await create(scene, { threshold: 0.3 })
      const normal = await hold(scene, agent('normal'))
      const old = await hold(scene, agent('old', { lane: 'batch' }))
      const young = await hold(scene, agent('young', { lane: 'batch' }))
      await report(scene, normal, pressing(0.5))
      await report(scene, old, pressing(0.3))
      expect(await scene.state(young.taskId)).toBe('running')
      await report(scene, normal, pressing(0.57))
      await report(scene, old, pressing(0.5))
      expect(await scene.task(young.taskId)).toMatchObject({ state: 'canceled' })
      expect(await swarm(scene)).toMatchObject({ circuit: 'open' })
      const spawn = () => startLease(scene, agent('late'))
      expect(await spawn()).toMatchObject({ receipt: { reason: 'swarm_overloaded' } })
      await report(scene, old, pressing(0))
      expect(await scene.state(old.taskId)).toBe('running')
      expect(await spawn()).toMatchObject({ receipt: { reason: 'circuit_open' } })
      await scene.pass(30_000)
      expect(await swarm(scene)).toMatchObject({ circuit: 'half_open' })
      expect(await spawn()).toMatchObject({ as: 'started' })
      expect(await swarm(scene)).toMatchObject({ circuit: 'half_open' })
    },
  )

  rule(
    '10.6 the shared budget sums all agents: CPU time of those that ended too, memory of the living',
    async (scene) => {
      await create(scene, { sharedBudget: { totalCpuTimeUs: 100, totalMemoryBytes: 50 } })
      const first = await hold(scene, agent('first'))
      await report(scene, first, { computeUs: 40, memoryBytes: 30 })
      expect((await swarm(scene))?.rest).toEqual({ cpuTimeUs: 60, memoryBytes: 20 })
      await scene.write({
        kind: 'settle',
        leaseId: first.leaseId,
        settlement: { as: 'completed', output: 'null' },
      })
      expect((await swarm(scene))?.rest).toEqual({ cpuTimeUs: 60, memoryBytes: 50 })
      const second = await hold(scene, agent('second'))
      expect(await report(scene, second, { computeUs: 60 })).toMatchObject({
        verdict: 'within',
        cpuTimeUs: 0,
      })
      expect(await startLease(scene, agent('third'))).toMatchObject({
        receipt: { reason: 'budget_exceeded' },
      })
      expect(await report(scene, second, { computeUs: 61 })).toMatchObject({ verdict: 'hard' })
      expect(await scene.task(second.taskId)).toMatchObject({ state: 'failed', kind: 'budget_exceeded' })
      expect(await swarm(scene)).toMatchObject({ circuit: 'open', agents: [] })
    },
  )

  rule('10.6 an agent learns from its start what it may use', async (scene) => {
    await create(scene, { sharedBudget: { totalCpuTimeUs: 100, totalMemoryBytes: 50 } })
    const first = await hold(scene, agent('first'))
    await report(scene, first, { computeUs: 40, memoryBytes: 10 })
    expect(await startLease(scene, agent('promised', { share: { cpuTimeUs: 20 } }))).toMatchObject({
      left: { cpuTimeUs: 20, memoryBytes: 40 },
    })
    expect(await scene.running(agent('queued'))).toMatchObject({ left: { cpuTimeUs: 40, memoryBytes: 40 } })
    expect((await scene.running()).left).toBeUndefined()
  })

  rule('10.6 the breaker opens on whose fault it was: the swarm’s, or the route’s', async (scene) => {
    const circuits = async () => ({
      swarm: (await swarm(scene))?.circuit,
      route: (await scene.read({ kind: 'routes' }))[0]?.circuit ?? 'closed',
    })
    await create(scene, { sharedBudget: { totalCpuTimeUs: 100 } })
    const greedy = await hold(scene, agent('greedy', { share: { cpuTimeUs: 10 } }))
    expect(await report(scene, greedy, { computeUs: 11 })).toMatchObject({ verdict: 'hard' })
    expect(await circuits()).toEqual({ swarm: 'closed', route: 'open' })
    await scene.write({ kind: 'closeSwarm', name: 'research' })
    expect(await startLease(scene, agent('late'))).toMatchObject({ receipt: { reason: 'not_found' } })
    await create(scene, { route: 'other', sharedBudget: { totalCpuTimeUs: 100 } })
    const other = await hold(scene, agent('other', { type: 'other' }))
    expect(await report(scene, other, { computeUs: 101 })).toMatchObject({ verdict: 'hard' })
    expect(await circuits()).toEqual({ swarm: 'open', route: 'open' })
    expect(await scene.read({ kind: 'routes' })).toHaveLength(1)
  })

  rule('10.6 a share is kept whatever the other agents use', async (scene) => {
    await create(scene, { sharedBudget: { totalCpuTimeUs: 100, totalMemoryBytes: 100 } })
    const promised = await hold(scene, agent('promised', { share: { cpuTimeUs: 40, memoryBytes: 40 } }))
    const greedy = await hold(scene, agent('greedy'))
    expect(await report(scene, greedy, { computeUs: 61, memoryBytes: 10 })).toMatchObject({ verdict: 'hard' })
    expect(await report(scene, promised, { computeUs: 40, memoryBytes: 40 })).toMatchObject({
      verdict: 'within',
    })
    expect(await report(scene, promised, { computeUs: 41 })).toMatchObject({ verdict: 'hard' })
  })

  rule('10.6 a share is never more than the rest, and is kept for its agent', async (scene) => {
    await create(scene, { sharedBudget: { totalCpuTimeUs: 100 } })
    const first = await hold(scene, agent('first', { share: { cpuTimeUs: 70 } }))
    expect(await startLease(scene, agent('greedy', { share: { cpuTimeUs: 31 } }))).toMatchObject({
      receipt: { reason: 'budget_exceeded' },
    })
    const second = await hold(scene, agent('second'))
    expect(await report(scene, second, { computeUs: 10 })).toMatchObject({ cpuTimeUs: 20 })
    expect(await report(scene, first, { computeUs: 10 })).toMatchObject({ cpuTimeUs: 60 })
    expect(await report(scene, first, { computeUs: 71 })).toMatchObject({ verdict: 'hard' })
  })

  timed(
    '10.6 an agent that goes back to the queue keeps its place; its CPU time stays spent',
    async (scene) => {
      await create(scene, { sharedBudget: { totalCpuTimeUs: 100 } })
      const claim = await scene.running(agent('one'))
      await report(scene, claim, { computeUs: 30, memoryBytes: 5 })
      await scene.release(claim)
      expect((await swarm(scene))?.agents).toMatchObject([{ agent: 'one', computeUs: 30, memoryBytes: 0 }])
      scene.free(claim.workerId)
      const again = await scene.claim()
      // The pass goes over the same work first, and says the same of it.
      await report(scene, again, { computeUs: 30 })
      expect((await swarm(scene))?.rest).toEqual({ cpuTimeUs: 70, memoryBytes: null })
      await report(scene, again, { computeUs: 50 })
      expect((await swarm(scene))?.rest).toEqual({ cpuTimeUs: 50, memoryBytes: null })
    },
  )

  rule(
    '10.6 the same name with the same terms is the same swarm, with others it is refused',
    async (scene) => {
      await create(scene)
      expect(await create(scene)).toEqual({ as: 'joined' })
      expect(await create(scene, { maxAgents: 3 })).toMatchObject({
        as: 'other_terms',
        terms: { maxAgents: 10 },
      })
    },
  )

  rule(
    '10.6, 6.3 an agent that is tried again is one of its swarm, and a fork beside it another',
    async (scene) => {
      await create(scene, { maxAgents: 2, sharedBudget: { totalCpuTimeUs: 100 } })
      const claim = await scene.running(agent('one', { share: { cpuTimeUs: 30 } }))
      const again = (onlyOver: boolean) =>
        scene.write({ kind: 'fork', taskId: claim.taskId, edits: {}, onlyOver, change: {} })
      expect(await again(false)).toMatchObject({ as: 'submitted', receipt: { accepted: true } })
      const names = (await swarm(scene))?.agents.map((it) => it.agent) ?? []
      expect(names.map((name) => name.split(' ')[0])).toEqual(['one', 'one'])
      expect(new Set(names).size).toBe(2)
      expect((await swarm(scene))?.rest).toEqual({ cpuTimeUs: 40, memoryBytes: null })
      expect(await again(false)).toMatchObject({ receipt: { reason: 'swarm_full' } })
      await scene.settle(claim, { as: 'failed', kind: 'error', error: '{"message":"no"}' })
      expect(await again(true)).toMatchObject({ receipt: { accepted: true } })
      expect((await swarm(scene))?.agents.map((it) => it.agent)).toContain('one')
      await scene.write({ kind: 'closeSwarm', name: 'research' })
      expect(await again(true)).toMatchObject({ receipt: { reason: 'not_found' } })
    },
  )

  rule('10.6 closing it cancels its agents', async (scene) => {
    await create(scene)
    const queued = await scene.accepted(agent('queued'))
    const held = await hold(scene, agent('held'))
    expect(await scene.write({ kind: 'closeSwarm', name: 'research' })).toEqual({ closed: true, canceled: 2 })
    expect(await scene.state(queued)).toBe('canceled')
    expect(await scene.state(held.taskId)).toBe('canceled')
    expect(await scene.read({ kind: 'swarms' })).toEqual([])
    expect(await scene.submit(agent('late'))).toMatchObject({ reason: 'not_found', taskId: '' })
    expect((await scene.read({ kind: 'tasks', filter: { states: ['rejected'] } })).tasks).toEqual([])
    expect(await scene.write({ kind: 'closeSwarm', name: 'research' })).toEqual({
      closed: false,
      canceled: 0,
    })
  })
}
