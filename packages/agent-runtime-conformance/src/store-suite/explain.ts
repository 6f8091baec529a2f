import {
  lanes,
  childName,
  marketKey,
  marketTaskKey,
  type Explanation,
  type Claim,
  type Submission,
  type AdmissionVerdict,
} from '@ku0/agent-runtime-core'
import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'
import { hold, termsOf } from './workload.ts'

export function explains({ rule, timed, twice, expect, seeds }: Suite): void {
  const explain = async (scene: Scene, taskId: string): Promise<Explanation> => {
    const found = await scene.read({ kind: 'explain', taskId })
    if (found === undefined) throw new Error(`there is no task ${taskId}`)
    return found
  }
  /** The facts that the rejection of a submission was decided on, as explain gives them. */
  const refused = async (scene: Scene, task: Partial<Submission> = {}) => {
    const receipt = await scene.submit(task)
    if (receipt.accepted) throw new Error('it was accepted')
    const { state, reason, verdict } = await explain(scene, receipt.taskId)
    expect([state, reason]).toEqual(['rejected', receipt.reason])
    return verdict
  }
  const limit = (name: string, value: number): AdmissionVerdict =>
    ({ by: 'limit', limit: name, max: value, value }) as AdmissionVerdict
  const claimedOn = async (scene: Scene, workerId: string, task: Partial<Submission>): Promise<Claim> => {
    await scene.worker(workerId, 1, [task.type ?? 'work'])
    await scene.accepted(task)
    return scene.claim()
  }
  const charged = (tokens: number) => ({ tokens, money: 0, cost: 0 })
  const spend = (scene: Scene, { leaseId }: Claim, tokens: number) =>
    scene.write({
      kind: 'recordStep',
      leaseId,
      key: `of ${tokens}`,
      position: 0,
      durationMs: 1,
      result: '1',
      charged: charged(tokens),
    })
  const spawn = (scene: Scene, { leaseId }: Claim, key: string, type = 'child') =>
    scene.write({
      kind: 'spawn',
      leaseId,
      key,
      position: 0,
      policy: 'cancel',
      submission: { type, lane: 'normal', input: 'null' },
    })

  rule(
    '1.5 a rejection keeps the limit that it was decided on, and what was there then',
    async (scene) => {
      await scene.accepted({ delayMs: 60_000 })
      expect(await refused(scene, { delayMs: 60_000 })).toEqual(limit('maxDelayed', 1))
      const first = await scene.accepted()
      await scene.accepted()
      expect(await refused(scene, { lane: 'batch' })).toEqual(limit('batchBackpressureThreshold', 2))
      await scene.accepted()
      const late = await scene.submit()
      await scene.cancel(first)
      expect((await explain(scene, late.taskId)).verdict).toEqual(limit('queueDepthLimit', 3))
      const refusal = { reason: 'invalid_payload', message: 'no' } as const
      expect(await refused(scene, { refused: refusal })).toBeUndefined()
    },
    { config: { maxDelayed: 1, batchBackpressureThreshold: 2, queueDepthLimit: 3 } },
  )

  timed(
    '1.5 a rejection keeps the quota that it was decided on, its counters, and when there may be room',
    async (scene) => {
      await scene.accepted({ model: 'one' })
      expect(await refused(scene, { model: 'one' })).toEqual({
        by: 'quota',
        key: 'model:one',
        limit: 'maxInFlight',
        max: 1,
        value: 1,
        asked: 1,
      })
      const resetsAt = Math.floor(scene.now / 60_000) * 60_000 + 60_000
      await scene.accepted({ model: 'few' })
      const few = { by: 'quota', key: 'model:few', limit: 'perWindow', max: 1, value: 1, asked: 1 }
      expect(await refused(scene, { model: 'few' })).toEqual({ ...few, resetsAt })
      await scene.accepted({ client: 'ada', tokens: 70 })
      const tokens = { by: 'quota', key: 'client:ada', limit: 'tokensPerWindow', max: 100 }
      expect(await refused(scene, { client: 'ada', tokens: 40 })).toEqual({
        ...tokens,
        value: 70,
        asked: 40,
        resetsAt,
      })
      // No window ever has room for it.
      expect(await refused(scene, { client: 'bob', tokens: 101 })).toEqual({
        ...tokens,
        key: 'client:bob',
        value: 0,
        asked: 101,
      })
      const claim = await claimedOn(scene, 'w', { type: 'caller', model: 'wide' })
      await scene.write({
        kind: 'settle',
        leaseId: claim.leaseId,
        settlement: { as: 'completed', output: '1' },
        backOff: { keys: ['model:wide'], retryAfterMs: 5_000 },
      })
      expect(await refused(scene, { model: 'wide' })).toEqual({
        by: 'block',
        key: 'model:wide',
        blockedUntil: scene.now + 5_000,
      })
    },
    {
      config: {
        quotaConfig: {
          models: { one: { maxInFlight: 1 }, few: { perWindow: 1 }, wide: { maxInFlight: 9 } },
          clients: { ada: { tokensPerWindow: 100 }, bob: { tokensPerWindow: 100 } },
        },
      },
    },
  )

  rule('1.5 a rejection keeps the circuit, the swarm or the budget that it was decided on', async (scene) => {
    const claim = await scene.running()
    const error = '{"message":"too much"}'
    await scene.settle(claim, { as: 'failed', kind: 'hard_limit', error, breach: 'hard' })
    expect(await refused(scene)).toMatchObject({ by: 'circuit', route: 'work', state: 'open' })
    expect((await explain(scene, claim.taskId)).failure).toMatchObject({
      kind: 'hard_limit',
      message: 'too much',
      circuit: { route: 'work', state: 'open' },
    })
    await scene.write({
      kind: 'putSwarm',
      name: 's',
      terms: { route: 'agent', terms: termsOf(), maxAgents: 1, sharedBudget: {}, threshold: 0.8 },
    })
    const agent = { type: 'agent', swarm: 's', profile: termsOf() }
    const { taskId } = await hold(scene, { ...agent, agent: 'a' })
    expect(await refused(scene, { ...agent, agent: 'b' })).toEqual({
      by: 'swarm',
      swarm: 's',
      limit: 'maxAgents',
      max: 1,
      value: 1,
    })
    await scene.write({ kind: 'closeSwarm', name: 's' })
    expect((await explain(scene, taskId)).canceled).toEqual({ by: 'swarm', swarm: 's' })

    const parent = await claimedOn(scene, 'p', {
      type: 'parent',
      budget: { limits: { tokens: 100 }, soft: {} },
    })
    await spend(scene, parent, 100)
    const outcome = await spawn(scene, parent, 'a')
    if (outcome.fenced === 'stale' || outcome.as !== 'refused') throw new Error('it was not refused')
    expect((await explain(scene, outcome.receipt.taskId)).verdict).toEqual({
      by: 'budget',
      taskId: parent.taskId,
      field: 'tokens',
      limit: 100,
      used: 100,
    })
  })

  timed('3.3 a delayed task says until when, and that it starts then', async (scene) => {
    const taskId = await scene.accepted({ delayMs: 60_000 })
    await scene.pass(10_000)
    expect(await explain(scene, taskId)).toMatchObject({
      waitsFor: 'delay',
      until: scene.now + 50_000,
      start: { startsInMs: 50_000, restsOn: { as: 'delay' } },
    })
  })

  rule(
    '3.4 the tasks before a queued task are reported, with those that could not start now; a quota with its state',
    async (scene) => {
      await scene.worker('w', 1, ['work'])
      await scene.accepted({ model: 'big' })
      const quota = await scene.accepted({ model: 'big' })
      const other = await scene.accepted({ type: 'unheard of' })
      const slot = await scene.accepted()
      expect(await explain(scene, slot)).toMatchObject({
        waitsFor: 'slot',
        ahead: 2,
        place: { lane: 'normal', rank: 1, ahead: 2, heldUp: 2 },
      })
      expect(await explain(scene, quota)).toMatchObject({
        waitsFor: 'quota:model:big',
        quota: { key: 'model:big', queued: 1, running: 1, maxInFlight: 1 },
        start: { startsInMs: null, restsOn: { as: 'nothing', because: 'other_tasks' } },
      })
      expect(await explain(scene, other)).toMatchObject({
        waitsFor: 'worker',
        start: { startsInMs: null, restsOn: { as: 'nothing', because: 'no_worker' } },
      })
    },
    { config: { quotaConfig: { models: { big: { maxInFlight: 1, onExceeded: 'defer' } } } } },
  )

  timed(
    '3.3 the estimate rests on what the workers that run its type started in the last minute',
    async (scene) => {
      await scene.worker('w', 1, ['work'])
      await scene.submitMany(100)
      const { taskId = '' } = (await scene.submitMany(1)).at(-1) ?? {}
      const start = async () => (await explain(scene, taskId)).start
      expect(await start()).toEqual({
        startsInMs: null,
        restsOn: { as: 'nothing', because: 'no_recent_starts' },
      })
      for (let n = 0; n < 10; n++) {
        await scene.settle(await scene.claim())
        await scene.pass(2_000)
        scene.free('w')
      }
      await scene.claim()
      // Eleven starts in 20 s; 89 come before it.
      expect(await start()).toEqual({
        startsInMs: Math.ceil((90 * 20_000) / 11),
        restsOn: { as: 'starts', starts: 11, overMs: 20_000 },
      })
    },
  )

  for (const [title, config] of [
    ['lanes', {}],
    ['shares', { shares: {} }],
    ['weighted tiers', { shares: { tierPolicy: 'weighted' } }],
    ['places told when they are queued', { shares: { keying: 'enqueue' } }],
  ] as const)
    twice(
      `C5 the tasks that explain puts before a task start before it: ${title}`,
      async (play) => {
        for (let seed = 0; seed < seeds(4); seed++)
          await play(async (scene) => {
            const random = new SeededRandom(`${title} ${seed}`)
            const clients = ['a', 'b', 'c', 'd']
            for (const name of clients)
              await scene.write({
                kind: 'putClient',
                name,
                credits: random.pick([500, 1_000, 2_000, 3_000]),
                tier: random.pick(['contracted', 'marketplace'] as const),
              })
            const ids: string[] = []
            for (let n = 0; n < 24; n++)
              ids.push(
                await scene.accepted({
                  client: random.pick(clients),
                  lane: random.pick(['interactive', 'normal', 'batch'] as const),
                  type: random.pick(['work', 'other']),
                }),
              )
            const said = new Map<string, number | undefined>()
            for (const taskId of ids) said.set(taskId, (await explain(scene, taskId)).ahead)
            await scene.worker('w', 1)
            for (let n = 0; n < ids.length; n++) {
              const claim = await scene.claim()
              expect([claim.taskId, said.get(claim.taskId)]).toEqual([claim.taskId, n])
              await scene.settle(claim)
              scene.free('w')
            }
          })
      },
      { config },
    )

  for (const [title, config] of [
    ['shares', { shares: {} }],
    ['weighted tiers', { shares: { tierPolicy: 'weighted' } }],
    ['places told when they are queued', { shares: { keying: 'enqueue' } }],
  ] as const)
    timed(
      `C5 with agingMs, too, where what is lifted of a lane is of one client: ${title}`,
      async (scene) => {
        let lifted = 0
        const played = seeds(8)
        for (let seed = 0; seed < played; seed++) {
          const random = new SeededRandom(`aged ${title} ${seed}`)
          const clients = ['a', 'b', 'c'].map((name) => `${name}${seed}`)
          for (const name of clients)
            await scene.write({
              kind: 'putClient',
              name,
              credits: random.pick([500, 1_000, 2_000, 3_000]),
              tier: random.pick(['contracted', 'marketplace'] as const),
            })
          const ids: string[] = []
          for (let n = 0; n < 20; n++) {
            await scene.pass(random.int(1_900))
            // Those of the first lane come last, so that none of them has waited long enough.
            const lane = random.pick(n < 15 ? (['normal', 'batch'] as const) : lanes)
            const client = lane === 'interactive' ? random.pick(clients) : clients[lanes.indexOf(lane)]
            ids.push(await scene.accepted({ lane, client: client ?? '' }))
          }
          const said = new Map<string, number | undefined>()
          for (const taskId of ids) {
            const { ahead, place } = await explain(scene, taskId)
            said.set(taskId, ahead)
            if (place !== undefined && place.rank < lanes.indexOf(place.lane)) lifted += 1
          }
          await scene.worker(`w${seed}`, 1)
          for (let n = 0; n < ids.length; n++) {
            const claim = await scene.claim()
            expect([seed, claim.taskId, said.get(claim.taskId)]).toEqual([seed, claim.taskId, n])
            await scene.settle(claim)
            if (n < ids.length - 1) scene.free(`w${seed}`)
          }
        }
        expect(lifted).toBeGreaterThan(played * 5)
      },
      { config: { ...config, agingMs: 10_000 } },
    )

  rule(
    '11.2 a queued task says whose it is, and how that client stands among the others',
    async (scene) => {
      await scene.write({ kind: 'putClient', name: 'ada', credits: 500 })
      await scene.worker('w', 1)
      for (const client of ['ada', 'bob', 'ada']) await scene.accepted({ client })
      expect((await explain(scene, scene.claims[0]?.taskId ?? '')).placement).toMatchObject({
        workerId: 'w',
        lane: 'normal',
        dispatch: 1,
        waitMs: 0,
        charge: 2,
        asksToYield: false,
      })
      await scene.accepted({ client: 'ada' })
      await scene.settle(await scene.claim())
      scene.free('w')
      // Bob's first has started by now, and cost 1; ada's cost 2 each.
      const last = await scene.accepted({ client: 'bob' })
      expect((await explain(scene, last)).place).toMatchObject({
        ahead: 1,
        client: {
          name: 'bob',
          tier: 'marketplace',
          credits: 1_000,
          virtualTime: 3,
          leastVirtualTime: 2,
          ahead: 0,
        },
      })
    },
    { config: { shares: {} } },
  )

  timed(
    'C5 with agingMs a queued task says its rank, when it is lifted next, and who is before it by now',
    async (scene) => {
      const batch = await scene.accepted({ lane: 'batch' })
      const liftedAt = scene.now + 10_000
      await scene.pass(4_000)
      await scene.submitMany(3)
      expect(await explain(scene, batch)).toMatchObject({ ahead: 3, place: { rank: 2, liftedAt } })
      await scene.pass(6_000)
      // Beside tasks of the lane that it is lifted to it is the one that came first.
      expect(await explain(scene, batch)).toMatchObject({
        ahead: 0,
        place: { rank: 1, liftedAt: liftedAt + 10_000 },
      })
    },
    { config: { agingMs: 10_000 } },
  )

  rule(
    '3.6 a task that gave way says to whom, and how often; one that is asked to says so',
    async (scene) => {
      await scene.worker('w', 1)
      const taskId = await scene.accepted({ lane: 'batch' })
      const claim = await scene.claim()
      await scene.accepted({ lane: 'interactive' })
      const asked = await explain(scene, taskId)
      expect(asked.placement).toMatchObject({ asksToYield: true })
      expect(asked.requeued).toBeUndefined()
      await scene.release(claim, 'yielded')
      expect((await explain(scene, taskId)).requeued).toEqual({
        times: 1,
        byReason: { yielded: 1 },
        preempted: 1,
        last: { reason: 'yielded', at: scene.now, preemptedBy: 'interactive' },
      })
    },
    { config: { preemption: true } },
  )

  rule('3.6 a task that yields by itself was not preempted', async (scene) => {
    const claim = await scene.running()
    await scene.release(claim, 'yielded')
    const { requeued } = await explain(scene, claim.taskId)
    expect(requeued).toMatchObject({ times: 1, preempted: 0, last: { reason: 'yielded' } })
    expect(Object.keys(requeued?.last ?? {})).toEqual(['reason', 'at'])
  })

  rule(
    '5.5 a parent that waits tells which children are open, and which nobody could start',
    async (scene) => {
      const parent = await scene.running({ type: 'parent' })
      await spawn(scene, parent, 'a')
      await spawn(scene, parent, 'b', 'other')
      await scene.worker('children', 1, ['child'])
      await scene.claim()
      const end = (key: string) =>
        ({ key: childName(key), position: 0, kind: 'child', name: childName(key) }) as const
      const { leaseId } = parent
      await scene.write({ kind: 'suspend', leaseId, waits: [end('a'), end('b')], stay: false })
      expect(await explain(scene, parent.taskId)).toMatchObject({
        reason: 'children',
        waits: [{ kind: 'child' }, { kind: 'child' }],
        children: {
          open: 2,
          first: [
            { key: 'a', type: 'child', state: 'running' },
            { key: 'b', type: 'other', state: 'queued', waitsFor: 'worker' },
          ],
        },
      })
      const { summary, children } = await explain(scene, parent.taskId)
      expect(summary).toContain('no worker runs type other')
      await scene.cancel(parent.taskId, 'enough')
      expect((await explain(scene, parent.taskId)).canceled).toEqual({ by: 'caller' })
      expect((await explain(scene, children?.first[1]?.taskId ?? '')).canceled).toEqual({
        by: 'parent',
        parent: parent.taskId,
      })
    },
  )

  rule(
    '11.5 a task that is parked for a budget says which one asks, and a task that ended for one, which',
    async (scene) => {
      const claim = await scene.running({ budget: { limits: { tokens: 100 }, soft: { tokens: 80 } } })
      const { taskId } = claim
      await spend(scene, claim, 90)
      expect((await explain(scene, taskId)).budget).toMatchObject({ taskId, asks: { field: 'tokens' } })
      await scene.release(claim)
      expect(await explain(scene, taskId)).toMatchObject({
        reason: 'budget',
        budget: { taskId, asks: { field: 'tokens' }, used: { tokens: 90 }, limits: { tokens: 100 } },
      })
      await scene.write({ kind: 'answerBudget', taskId, answer: { as: 'stop' } })
      expect(await explain(scene, taskId)).toMatchObject({
        reason: 'budget_exceeded',
        failure: {
          kind: 'budget_exceeded',
          code: 'budget_exceeded',
          budget: { taskId, field: 'tokens', limit: 100, used: 90, stopped: true },
        },
      })
    },
  )

  timed('14.3 a task whose process died tells what its table decided before that', async (scene) => {
    const claim = await scene.running()
    const recovery = { category: 'timeout', kind: 'timeout', strategy: 'restart' } as const
    await scene.settle(claim, { as: 'retry', error: '{"message":"slow"}', delayMs: 0, recovery })
    const at = scene.now
    expect((await explain(scene, claim.taskId)).requeued?.decided).toBe(undefined)
    scene.free(claim.workerId)
    await scene.claim()
    await scene.jump(30_000)
    expect((await explain(scene, claim.taskId)).requeued).toMatchObject({
      times: 2,
      last: { reason: 'expired' },
      decided: { at, recovery },
    })
  })

  timed(
    'C17 a task that failed tells how often its leases were lost, and one that goes on, too',
    async (scene) => {
      const claim = await scene.running()
      await scene.jump(30_000)
      expect((await explain(scene, claim.taskId)).requeued).toMatchObject({
        byReason: { expired: 1 },
        last: { reason: 'expired', at: scene.now },
      })
      await scene.worker('again', 1, ['work'])
      const second = await scene.claim()
      await scene.settle(second, {
        as: 'failed',
        kind: 'error',
        error: '{"code":"odd","message":"no\\nstack"}',
      })
      expect(await explain(scene, claim.taskId)).toMatchObject({
        failure: { kind: 'error', message: 'no', code: 'odd', attempt: 2, crashes: 1 },
        requeued: { times: 1 },
      })
    },
  )

  rule('13.6 a job of a marketplace says in which stage it is, whatever its state', async (scene) => {
    await scene.worker('w', 1, ['work'])
    const taskId = await scene.accepted()
    const { leaseId } = await scene.claim()
    const stage = async () => (await explain(scene, taskId)).stage
    const record = (key: string, position: number) =>
      scene.write({ kind: 'recordStep', leaseId, key, position, durationMs: 1, result: '1' })
    expect(await stage()).toBeUndefined()
    await record(marketKey('job'), 0)
    expect(await stage()).toBe('proposal')
    await record(marketKey('proposal'), 1)
    await record('of the program', 2)
    await scene.write({
      kind: 'spawn',
      leaseId,
      key: marketTaskKey('contract'),
      position: 3,
      policy: 'cancel',
      submission: { type: 'child', lane: 'normal', input: 'null' },
    })
    await scene.write({
      kind: 'suspend',
      leaseId,
      waits: [{ key: 'c', position: 4, kind: 'child', name: childName(marketTaskKey('contract')) }],
      stay: false,
    })
    const { stage: waiting, summary } = await explain(scene, taskId)
    expect(waiting).toBe('contract')
    expect(summary).toContain("waits for the task of stage 'contract' (task ")
    await scene.cancel(taskId)
    expect(await stage()).toBe('contract')
  })

  timed(
    '3.4 why tasks wait is counted by reason, each with the oldest of them',
    async (scene) => {
      expect(await scene.read({ kind: 'waits' })).toEqual({ queued: 0, waiting: 0, reasons: [] })
      await scene.worker('w', 2, ['work'])
      const timer = await scene.accepted()
      const claim = await scene.claim()
      await scene.write({
        kind: 'suspend',
        leaseId: claim.leaseId,
        waits: [{ key: 't', position: 0, kind: 'timer', delayMs: 900_000 }],
        stay: false,
      })
      scene.free('w')
      await scene.accepted({ model: 'big' })
      await scene.accepted()
      await scene.accepted({ delayMs: 900_000 })
      const sooner = await scene.accepted({ delayMs: 800_000 })
      await scene.pass(1_000)
      const quota = await scene.accepted({ model: 'big' })
      const slot = await scene.accepted()
      const worker = await scene.accepted({ type: 'unheard of', lane: 'batch' })
      await scene.submitMany(2)
      await scene.submitMany(1, { lane: 'batch' })
      await scene.pass(500)
      const oldest = (taskId: string, ageMs: number) => ({ taskId, ageMs })
      expect(await scene.read({ kind: 'waits' })).toEqual({
        queued: 8,
        waiting: 1,
        reasons: [
          { reason: 'slot', state: 'queued', count: 4, oldest: oldest(slot, 500) },
          { reason: 'delay', state: 'queued', count: 2, oldest: oldest(sooner, 1_500) },
          { reason: 'quota:model:big', state: 'queued', count: 1, oldest: oldest(quota, 500) },
          { reason: 'timer', state: 'waiting', count: 1, oldest: oldest(timer, 1_500) },
          { reason: 'worker', state: 'queued', count: 1, oldest: oldest(worker, 500) },
        ],
      })
    },
    { config: { quotaConfig: { models: { big: { maxInFlight: 1, onExceeded: 'defer' } } } } },
  )
}
