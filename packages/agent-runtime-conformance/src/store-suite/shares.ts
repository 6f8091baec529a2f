import type { Submission } from '@ku0/agent-runtime-core'
import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import type { Scene } from './scene.ts'
import type { SceneOptions, Suite } from './suite.ts'

const shares = (settings: object = {}, more: object = {}): SceneOptions => ({
  config: { shares: settings, ...more },
})

export function fairShares({ rule, timed, expect }: Suite): void {
  /** Whether the one slot was kept after the last task. */
  const kept = new WeakMap<Scene, boolean>()
  /** The clients whose tasks start, one after the other, on one slot; each costs its estimate. */
  async function served(scene: Scene, most = Number.POSITIVE_INFINITY): Promise<string> {
    if (!kept.has(scene)) await scene.worker('w', 1)
    else if (kept.get(scene) === true) scene.free('w')
    kept.set(scene, false)
    const order: string[] = []
    while (await scene.hasClaim()) {
      const claim = await scene.claim()
      order.push((JSON.parse(claim.submission) as { client: string }).client)
      await scene.settle(claim)
      if (order.length === most) {
        kept.set(scene, true)
        break
      }
      scene.free('w')
    }
    return order.join('')
  }
  const submit = async (scene: Scene, clients: string, more: Partial<Submission> = {}) => {
    for (const client of clients) await scene.accepted({ client, ...more })
  }
  const put = (scene: Scene, name: string, credits?: number, tier?: 'contracted' | 'marketplace') =>
    scene.write({
      kind: 'putClient',
      name,
      ...(credits === undefined ? {} : { credits }),
      ...(tier === undefined ? {} : { tier }),
    })
  const client = async (scene: Scene, name: string) => {
    const [found] = await scene.read({ kind: 'clients', name })
    return found
  }

  rule('11.2 without shares nobody waits longer for whose task it is', async (scene) => {
    await submit(scene, 'AAAAAAAAAAB')
    expect(await served(scene)).toBe('AAAAAAAAAAB')
    expect(await scene.read({ kind: 'clients' })).toEqual([])
  })

  const capacities = { 'model:m': 18, compute: 9 }
  const amounts = { A: { cost: 1, tokens: 4 }, B: { cost: 3, tokens: 1 } }
  const started = async (scene: Scene) => {
    const order: string[] = []
    while (await scene.hasClaim()) {
      const claim = await scene.claim()
      order.push((JSON.parse(claim.submission) as { client: string }).client)
    }
    return order.join('')
  }
  const parts = async (scene: Scene) =>
    (await scene.read({ kind: 'clients' })).map(({ dominantShare = -1 }) => dominantShare)

  rule(
    '11.10 the client with the least dominant share is next: three tasks of A, two of B, and each end counts',
    async (scene) => {
      for (const name of ['A', 'B'] as const)
        await submit(scene, name.repeat(6), { model: 'm', ...amounts[name] })
      await scene.worker('w', 5)
      const claims = []
      while (await scene.hasClaim()) claims.push(await scene.claim())
      const clients = claims.map(({ submission }) => (JSON.parse(submission) as { client: string }).client)
      expect(clients.join('')).toBe('ABABA')
      expect(await parts(scene)).toEqual([2 / 3, 2 / 3])
      // A task of B is over: B holds 3 of 9, and A 12 of 18.
      await scene.settle(claims[1])
      expect(await parts(scene)).toEqual([2 / 3, 1 / 3])
      scene.free('w')
      expect(await started(scene)).toBe('B')
      await scene.write({
        kind: 'release',
        leaseId: (claims[0] as (typeof claims)[0]).leaseId,
        reason: 'yielded',
      })
      expect(await parts(scene)).toEqual([8 / 18, 2 / 3])
      scene.free('w')
      expect(await started(scene)).toBe('A')
    },
    shares({ dominant: capacities }, { maxInFlightPerWorker: 8 }),
  )

  rule(
    '11.10 credits and tiers entitle to more, and without capacities nothing is asked of what runs',
    async (scene) => {
      await put(scene, 'B', 2_000)
      await submit(scene, 'ABABABABAB')
      await scene.worker('w', 6)
      expect(await started(scene)).toBe('ABBABB')
      expect(await parts(scene)).toEqual([0.2, 0.2])
    },
    shares({ dominant: { compute: 10 } }, { maxInFlightPerWorker: 8 }),
  )

  rule(
    '11.2 the place is fixed at dispatch: ABAAAAAAAAA',
    async (scene) => {
      await submit(scene, 'AAAAAAAAAAB')
      expect(await served(scene)).toBe('ABAAAAAAAAA')
    },
    shares(),
  )

  rule(
    '11.2 as the paper has it, when it is queued: AAAAAAAAAAB',
    async (scene) => {
      await submit(scene, 'AAAAAAAAAAB')
      expect(await served(scene)).toBe('AAAAAAAAAAB')
    },
    shares({ keying: 'enqueue' }),
  )

  rule(
    '11.2 times that cannot rise further keep the places of what is queued, and come down when nothing is under way',
    async (scene) => {
      for (const name of 'ABC') await put(scene, name, 0)
      await submit(scene, 'A'.repeat(45), { cost: 100_000 })
      await served(scene)
      await submit(scene, 'AAAB', { cost: 100_000 })
      expect(await served(scene, 1)).toBe('A')
      const highest = 2 ** 52 / 1e6
      expect(await client(scene, 'A')).toMatchObject({ virtualTime: highest })
      await submit(scene, 'C')
      expect(await served(scene)).toBe('AABC')
      await submit(scene, 'A')
      expect(((await client(scene, 'A'))?.virtualTime ?? highest) < highest).toBe(true)
    },
    shares({ keying: 'enqueue' }),
  )

  rule(
    '11.4 twice the credits, twice the service: ABABAABAA',
    async (scene) => {
      await put(scene, 'A', 2000)
      await put(scene, 'B', 1000)
      await submit(scene, 'ABABABABABABABABABAB')
      expect(await served(scene, 9)).toBe('ABABAABAA')
    },
    shares(),
  )

  rule(
    '11.4 a costly task is waited for: HLLLLLHLLLLL',
    async (scene) => {
      await submit(scene, 'HHH', { cost: 5 })
      await submit(scene, 'LLLLLLLLLLLL', { cost: 1 })
      expect(await served(scene, 12)).toBe('HLLLLLHLLLLL')
    },
    shares(),
  )

  rule(
    '11.4 strict tiers: CCCCCMMMMM, whoever came first',
    async (scene) => {
      await put(scene, 'C', 1000, 'contracted')
      await submit(scene, 'MMMMMCCCCC')
      expect(await served(scene)).toBe('CCCCCMMMMM')
    },
    shares(),
  )

  rule(
    '11.4 weighted tiers: of 20 dispatches 16 are C’s and 4 are M’s',
    async (scene) => {
      await put(scene, 'C', 1000, 'contracted')
      await submit(scene, 'MC'.repeat(25))
      const order = await served(scene, 20)
      expect(order.replaceAll('M', '')).toHaveLength(16)
    },
    shares({ tierPolicy: 'weighted' }),
  )

  rule(
    'C5 lanes come before tiers and shares',
    async (scene) => {
      await put(scene, 'C', 1000, 'contracted')
      await submit(scene, 'CCC', { lane: 'batch' })
      await submit(scene, 'C', { lane: 'normal' })
      await submit(scene, 'MM', { lane: 'interactive' })
      expect(await served(scene)).toBe('MMCCCC')
    },
    shares(),
  )

  rule(
    '11.3 a new client begins beside those that are active, not at nothing',
    async (scene) => {
      await submit(scene, 'AAAAAAAAAAAA')
      expect(await served(scene, 6)).toBe('AAAAAA')
      await submit(scene, 'BBBBBB')
      expect(await served(scene, 6)).toBe('ABABAB')
      expect((await client(scene, 'B'))?.virtualTime).toBe(9)
    },
    shares(),
  )

  rule(
    '11.3 as the paper has it a new client begins at 0, and is served until it has caught up',
    async (scene) => {
      await submit(scene, 'AAAAAAAAAAAA')
      expect(await served(scene, 6)).toBe('AAAAAA')
      await submit(scene, 'BBBBBBBB')
      expect(await served(scene, 9)).toBe('BBBBBBABA')
    },
    shares({ placement: 'zero' }),
  )

  const defer = { onExceeded: 'defer' } as const
  const limited = (quotas: object): SceneOptions =>
    shares({}, { quotaConfig: { windowMs: 60_000, ...quotas }, leaseTtlMs: 1e9, heartbeatIntervalMs: 1e8 })

  rule(
    '11.3 a new client begins beside those that could be served, not beside one that a quota holds back',
    async (scene) => {
      await submit(scene, 'SS', { model: 'm' })
      await submit(scene, 'B'.repeat(20))
      expect(await served(scene, 21)).toBe(`S${'B'.repeat(20)}`)
      await submit(scene, 'BBBBNNNN')
      expect(await served(scene)).toBe('BNBNBNBN')
    },
    limited({ models: { m: { ...defer, perWindow: 1 } } }),
  )

  rule(
    '11.3 a client that a quota held back begins beside the others with a task that it does not hold back',
    async (scene) => {
      await submit(scene, 'SS', { model: 'm' })
      await submit(scene, 'B'.repeat(20))
      expect(await served(scene, 21)).toBe(`S${'B'.repeat(20)}`)
      await submit(scene, 'BBBBSSSS')
      expect(await served(scene)).toBe('BSBSBSBS')
      expect(await client(scene, 'S')).toMatchObject({ virtualTime: 24, spent: 5, queued: 1 })
    },
    limited({ models: { m: { ...defer, perWindow: 1 } } }),
  )

  timed(
    '11.3 a client that its quota held back has saved up nothing meanwhile when the quota has room again',
    async (scene) => {
      await submit(scene, 'S'.repeat(10), { model: 'm' })
      await submit(scene, 'B'.repeat(40))
      expect(await served(scene, 28)).toBe(`SBSBSBSB${'B'.repeat(20)}`)
      await scene.pass(60_000)
      expect(await served(scene, 10)).toBe('SBSBSBSBBB')
    },
    limited({ models: { m: { ...defer, perWindow: 4 } } }),
  )

  timed(
    '11.3 clients that wait at one quota keep their shares among themselves, however far they are moved on',
    async (scene) => {
      await put(scene, 'X', 4_000)
      await submit(scene, 'X'.repeat(20), { model: 'm' })
      await submit(scene, 'Y'.repeat(20), { model: 'm' })
      await submit(scene, 'Z'.repeat(60))
      let order = ''
      for (let window = 0; window < 10; window++) {
        order += await served(scene, 4)
        await scene.pass(60_000)
      }
      expect(order.replaceAll('Z', '')).toBe('XYXXXXYXXX')
    },
    limited({ models: { m: { ...defer, perWindow: 1 } } }),
  )

  timed(
    '11.3 the same for one that a quota of its own holds back',
    async (scene) => {
      await submit(scene, 'S'.repeat(6))
      await submit(scene, 'B'.repeat(40))
      expect(await served(scene, 22)).toBe(`SBSB${'B'.repeat(18)}`)
      await submit(scene, 'NNNN')
      expect(await served(scene, 4)).toBe('BNBN')
      await scene.pass(60_000)
      expect(await served(scene, 7)).toBe('SBNSBNB')
    },
    limited({ clients: { S: { ...defer, perWindow: 2 } } }),
  )

  timed(
    '11.3 the same while its provider blocks it',
    async (scene) => {
      const claim = await scene.running({ client: 'S', model: 'm' })
      await submit(scene, 'SSSS', { model: 'm' })
      const { leaseId } = claim
      const backOff = { keys: ['model:m'], retryAfterMs: 60_000 }
      const step = { leaseId, key: 'ask', position: 0, durationMs: 1, error: '{}' }
      await scene.write({ kind: 'failStep', ...step, backOff })
      await scene.settle(claim)
      await submit(scene, 'B'.repeat(20))
      expect(await served(scene, 20)).toBe('B'.repeat(20))
      await submit(scene, 'BBBBBBNNNN')
      expect(await served(scene, 4)).toBe('BNBN')
      await scene.pass(60_000)
      expect(await served(scene, 6)).toBe('SBNSBN')
    },
    shares({}, { leaseTtlMs: 1e9, heartbeatIntervalMs: 1e8 }),
  )

  rule(
    '11.3 one whose tasks only come after those of other lanes is not held back',
    async (scene) => {
      await submit(scene, 'SS', { lane: 'batch' })
      await submit(scene, 'B'.repeat(10))
      expect(await served(scene, 10)).toBe('B'.repeat(10))
      await submit(scene, 'BBBNNN')
      expect(await served(scene)).toBe('NNNBBBSS')
    },
    shares(),
  )

  rule(
    '11.3 one that comes back keeps what it has used',
    async (scene) => {
      await submit(scene, 'AAAAAA')
      await served(scene)
      await submit(scene, 'BBBAAABBB')
      expect(await served(scene)).toBe('BBBBBBAAA')
    },
    shares(),
  )

  rule(
    '11.5 the estimate is charged at the start and settled at the end, up or down',
    async (scene) => {
      await scene.accepted({ client: 'A', cost: 10 })
      await scene.worker('w', 2)
      const claim = await scene.claim()
      expect(await client(scene, 'A')).toMatchObject({ virtualTime: 10, spent: 0, running: 1, queued: 0 })
      const charged = { tokens: 0, money: 0, cost: 2_500_000 }
      const settlement = { as: 'completed', output: 'null' } as const
      await scene.write({ kind: 'settle', leaseId: claim.leaseId, settlement, charged })
      expect(await client(scene, 'A')).toMatchObject({ virtualTime: 2.5, spent: 2.5, running: 0 })
      await scene.accepted({ client: 'A', cost: 1 })
      scene.free('w')
      const second = await scene.claim()
      await scene.write({
        kind: 'settle',
        leaseId: second.leaseId,
        settlement,
        charged: { ...charged, cost: 4_000_000 },
      })
      expect(await client(scene, 'A')).toMatchObject({ virtualTime: 6.5, spent: 6.5 })
    },
    shares(),
  )

  rule(
    '11.5 a task is charged once, however often it goes back to the queue',
    async (scene) => {
      await scene.accepted({ client: 'A', cost: 3 })
      await scene.worker('w', 1)
      for (let n = 0; n < 4; n++) {
        const claim = await scene.claim()
        if (n === 3) await scene.settle(claim)
        else if (n === 2) await scene.settle(claim, { as: 'retry', error: '{}', delayMs: 0 })
        else await scene.release(claim)
        scene.free('w')
      }
      expect(await client(scene, 'A')).toMatchObject({ virtualTime: 3, spent: 3 })
    },
    shares(),
  )

  rule(
    '11.5 a task that was never started costs nothing; a task that was canceled under way costs its estimate, or its report',
    async (scene) => {
      const queued = await scene.accepted({ client: 'A', cost: 3 })
      await scene.cancel(queued)
      expect(await client(scene, 'A')).toMatchObject({ virtualTime: 0, spent: 0, queued: 0 })
      const claim = await scene.running({ client: 'A', cost: 3 })
      await scene.cancel(claim.taskId)
      expect(await client(scene, 'A')).toMatchObject({ virtualTime: 3, spent: 3, running: 0 })
      const second = await scene.running({ client: 'A', cost: 3 })
      await scene.write({
        kind: 'recordStep',
        leaseId: second.leaseId,
        key: 's',
        position: 0,
        durationMs: 1,
        result: '1',
        charged: { tokens: 0, money: 0, cost: 1_000_000 },
      })
      await scene.cancel(second.taskId)
      expect(await client(scene, 'A')).toMatchObject({ virtualTime: 4, spent: 4 })
    },
    shares(),
  )

  rule(
    '11.5 many credits and a small estimate: what a task really cost counts all the same',
    async (scene) => {
      const added: (number | undefined)[] = []
      for (const [n, cost] of [0, 0.4, 1, 1.4].entries()) {
        await put(scene, `A${n}`, 1e9)
        const { leaseId } = await scene.running({ client: `A${n}`, cost, type: `t${n}` })
        const charged = { tokens: 0, money: 0, cost: 1_000_000_000 }
        await scene.write({
          kind: 'settle',
          leaseId,
          settlement: { as: 'completed', output: 'null' },
          charged,
        })
        added.push((await client(scene, `A${n}`))?.virtualTime)
      }
      expect(added).toEqual([0.001, 0.001, 0.001, 0.001])
    },
    shares(),
  )

  rule(
    '11.5 with a ledger the credits go down by what was used',
    async (scene) => {
      await put(scene, 'A', 100)
      const claim = await scene.running({ client: 'A', cost: 30 })
      expect(await client(scene, 'A')).toMatchObject({ credits: 70 })
      await scene.write({
        kind: 'settle',
        leaseId: claim.leaseId,
        settlement: { as: 'completed', output: 'null' },
        charged: { tokens: 0, money: 0, cost: 12_000_000 },
      })
      expect(await client(scene, 'A')).toMatchObject({ credits: 88, spent: 12 })
    },
    shares({ ledger: true }),
  )

  rule(
    '11.6 a good reputation makes a client’s time pass more slowly: beta 0.5, reputation 0.86405',
    async (scene) => {
      const scores = { quality: 1, adherence: 1, speed: 1, cost: 1, errors: 1, revisions: 1 }
      const evaluate = (agentId: string, quality: number) =>
        scene.write({
          kind: 'evaluate',
          agentId,
          domain: 'default',
          weights: { quality: 1, adherence: 0, speed: 0, cost: 0, errors: 0, revisions: 0 },
          scores: { ...scores, quality },
          missing: [],
        })
      await evaluate('A', 0.864_05)
      await evaluate('poor', 0)
      const times: Record<string, number> = {}
      for (const name of ['A', 'poor', 'unknown']) {
        const claim = await scene.running({ client: name, type: name })
        times[name] = (await client(scene, name))?.virtualTime ?? 0
        await scene.settle(claim)
      }
      expect(times).toEqual({ A: 0.698_312, poor: 0.975_61, unknown: 1 })
    },
    shares({ reputationBeta: 0.5, exploration: 0 }),
  )

  rule(
    '11.6 a share of the starts leaves reputation out',
    async (scene) => {
      await scene.write({
        kind: 'evaluate',
        agentId: 'A',
        domain: 'default',
        weights: { quality: 1, adherence: 0, speed: 0, cost: 0, errors: 0, revisions: 0 },
        scores: { quality: 1, adherence: 1, speed: 1, cost: 1, errors: 1, revisions: 1 },
        missing: [],
      })
      await submit(scene, 'A'.repeat(200))
      await served(scene)
      const time = (await client(scene, 'A'))?.virtualTime ?? 0
      // 10 of 200 at 1, the others at 1 / 2.
      expect(Math.round(time)).toBe(105)
    },
    shares({ reputationBeta: 1 }),
  )

  rule(
    '3.4 a head that may not run is passed over, and its client’s share waits for it',
    async (scene) => {
      await submit(scene, 'AA', { model: 'big' })
      await submit(scene, 'BB')
      await scene.worker('w', 3)
      const names = async () => JSON.parse((await scene.claim()).submission).client as string
      expect([await names(), await names(), await names()]).toEqual(['A', 'B', 'B'])
      expect(await scene.hasClaim()).toBe(false)
      expect(await client(scene, 'A')).toMatchObject({ virtualTime: 1, queued: 1, running: 1 })
    },
    shares({}, { quotaConfig: { models: { big: { maxInFlight: 1, onExceeded: 'defer' } } } }),
  )

  rule(
    'a client of another tier, or with other credits, moves to its new place at once',
    async (scene) => {
      await submit(scene, 'AAABBB')
      await put(scene, 'B', undefined, 'contracted')
      expect(await served(scene, 2)).toBe('BB')
      await put(scene, 'B', 1000, 'marketplace')
      expect(await served(scene, 4)).toBe('ABAA')
    },
    shares(),
  )

  rule(
    'a client is forgotten when it has nothing under way, and refused above maxClients',
    async (scene) => {
      await submit(scene, 'AB')
      expect(await put(scene, 'C')).toEqual({ as: 'full' })
      expect(await scene.submit({ client: 'C' })).toMatchObject({ accepted: false, reason: 'quota_exceeded' })
      expect(await scene.write({ kind: 'removeClient', name: 'A' })).toMatchObject({ as: 'busy' })
      expect(await served(scene)).toBe('AB')
      expect(await scene.write({ kind: 'removeClient', name: 'A' })).toEqual({ as: 'removed' })
      expect(await scene.write({ kind: 'removeClient', name: 'A' })).toEqual({ as: 'unknown' })
      await submit(scene, 'CB')
      expect(await served(scene)).toBe('CB')
    },
    shares({}, { maxClients: 2 }),
  )

  timed(
    'a client with tasks that are not due yet is not forgotten',
    async (scene) => {
      await put(scene, 'A', 1000, 'contracted')
      const claim = await scene.running({ client: 'A' })
      await scene.settle(claim, { as: 'retry', error: '{}', delayMs: 1_000 })
      expect(await scene.write({ kind: 'removeClient', name: 'A' })).toMatchObject({
        as: 'busy',
        client: { queued: 0, running: 0 },
        delayed: 1,
      })
      await scene.cancel(claim.taskId)
      expect(await scene.write({ kind: 'removeClient', name: 'A' })).toEqual({ as: 'removed' })
    },
    shares(),
  )

  timed(
    'F03 C5 with agingMs a batch task that has waited long enough goes before younger ones of its new lane',
    async (scene) => {
      await submit(scene, 'b', { lane: 'batch' })
      await scene.pass(1_500)
      await submit(scene, 'n', { lane: 'normal' })
      await submit(scene, 'i', { lane: 'interactive' })
      expect(await served(scene)).toBe('ibn')
    },
    { config: { agingMs: 1_000 } },
  )

  timed(
    'C5 with shares and agingMs nobody waits for ever, not even behind a higher tier that never rests',
    async (scene) => {
      await put(scene, 'C', 1000, 'contracted')
      await submit(scene, 'M')
      await submit(scene, 'CCCC')
      expect(await served(scene, 2)).toBe('CC')
      await scene.pass(1_500)
      await submit(scene, 'CC')
      expect(await served(scene, 2)).toBe('MC')
    },
    shares({}, { agingMs: 1_000 }),
  )

  for (const [title, settings] of [
    ['', shares()],
    [', with agingMs', shares({}, { agingMs: 60_000 })],
  ] as const)
    rule(
      `11.2 the level client goes first whose next task is older, also when one before it was canceled${title}`,
      async (scene) => {
        await submit(scene, 'A')
        const taskId = await scene.accepted({ client: 'B' })
        await submit(scene, 'EB')
        await scene.cancel(taskId)
        expect(await served(scene)).toBe('AEB')
      },
      settings,
    )

  rule(
    'two clients that always have tasks are never further apart than one task, and spend what their shares say',
    async (scene) => {
      const random = new SeededRandom('shares')
      const credits: Record<string, number> = { A: 4000, B: 2000, C: 1000, D: 1000 }
      for (const [name, amount] of Object.entries(credits)) await put(scene, name, amount)
      const charges = new Map<string, number>()
      let largest = 0
      const top = async () => {
        const all = await scene.read({ kind: 'clients' })
        for (const { name, queued } of all.length === 0
          ? Object.keys(credits).map((it) => ({ name: it, queued: 0 }))
          : all)
          for (let n = queued; n < 4; n++) {
            const cost = 1 + Math.floor(random.next() * 50)
            largest = Math.max(largest, (cost * 1000) / (credits[name] ?? 1))
            await scene.accepted({ client: name, cost })
          }
      }
      await top()
      await scene.worker('w', 3)
      for (let n = 0; n < 150; n++) {
        const claim = await scene.claim()
        const { client: name, cost } = JSON.parse(claim.submission) as { client: string; cost: number }
        charges.set(name, (charges.get(name) ?? 0) + cost)
        await scene.settle(claim)
        await top()
        const times = (await scene.read({ kind: 'clients' })).map(({ virtualTime }) => virtualTime)
        expect(largest - Math.max(...times) + Math.min(...times) > -0.000_01).toBe(true)
        scene.free('w')
      }
      const spent = new Map((await scene.read({ kind: 'clients' })).map((it) => [it.name, it.spent]))
      expect(spent).toEqual(charges)
    },
    shares({}),
  )
}
