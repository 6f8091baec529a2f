import type { Claim, EventData, LedgerPlace, Submission, UsageSum, Write } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { SceneOptions, Suite } from './suite.ts'

const ledger = (settings: object = {}): SceneOptions => ({
  config: { shares: { ledger: true, ...settings } },
})
const selling = ledger({ outOfCredits: 'park', startCredits: 0 })
/** Entries are kept for a minute, those of purchases with a key for two. */
const folding: SceneOptions = {
  config: { ...selling.config, retention: { ledger: { ageMs: 60_000 }, keysMs: 120_000 } },
}

/** The ledger of clients' credits. */
export function credits({ rule, timed, expect }: Suite): void {
  const buy = (scene: Scene, amount: number, more: Partial<Write<'purchaseCredits'>> = {}) =>
    scene.write({ kind: 'purchaseCredits', name: 'ada', amount, ...more })
  const standing = async (scene: Scene) => {
    const [found] = await scene.read({ kind: 'clients', name: 'ada' })
    return found
  }
  const entries = (scene: Scene, after?: number, limit?: number) =>
    scene.read({
      kind: 'ledger',
      name: 'ada',
      ...(after === undefined ? {} : { after }),
      ...(limit === undefined ? {} : { limit }),
    })
  /** The kinds of the entries, each with its changes. */
  const told = async (scene: Scene) =>
    (await entries(scene)).map(({ kind, amount, held }) => [kind, amount, held])
  const complete = (scene: Scene, { leaseId }: Pick<Claim, 'leaseId'>, cost = 0) => {
    const charged: UsageSum = { tokens: 0, money: 0, cost: cost * 1e6 }
    return scene.write({
      kind: 'settle',
      leaseId,
      settlement: { as: 'completed', output: 'null' },
      ...(cost === 0 ? {} : { charged }),
    })
  }
  /** One pass over all ledgers, as a runtime makes it; how many entries were folded. */
  const fold = async (scene: Scene, dryRun = false): Promise<number> => {
    let folded = 0
    let place: LedgerPlace | undefined
    do {
      const until = scene.now - 60_000
      const answer: Awaited<ReturnType<typeof scene.write<'foldLedger'>>> = await scene.write({
        kind: 'foldLedger',
        ...place,
        until,
        dryRun,
      })
      folded += answer.folded
      place = answer.next
    } while (place !== undefined)
    return folded
  }
  const isNote = (note: string | undefined, count: number) =>
    new RegExp(`^folded:${count}:[0-9a-f]{64}$`).test(note ?? '')
  const mine = (cost: number, more: Partial<Submission> = {}) => ({ client: 'ada', cost, ...more })

  rule(
    '11.8 a purchase adds credits and stands in the ledger with its key and note',
    async (scene) => {
      const at = scene.now
      const outcome = await buy(scene, 40, { key: 'order 1', note: 'invoice 7' })
      const entry = {
        client: 'ada',
        seq: 1,
        at,
        kind: 'purchase',
        amount: 40,
        held: 0,
        credits: 40,
        reserved: 0,
        key: 'order 1',
        note: 'invoice 7',
        why: '40 credits were bought: invoice 7',
      }
      expect(outcome).toEqual({ as: 'purchased', entry, deduplicated: false })
      expect(await entries(scene)).toEqual([entry])
      expect(await standing(scene)).toMatchObject({ credits: 40, reserved: 0, entries: 1 })
    },
    selling,
  )

  rule(
    '11.8 a purchase with a key is made once; another amount under the key is a conflict',
    async (scene) => {
      await buy(scene, 40, { key: 'k' })
      expect(await buy(scene, 40, { key: 'k' })).toMatchObject({
        as: 'purchased',
        deduplicated: true,
        entry: { seq: 1 },
      })
      expect(await buy(scene, 41, { key: 'k' })).toMatchObject({ as: 'conflict', entry: { amount: 40 } })
      await buy(scene, 1, { key: 'k', name: 'bob' })
      await buy(scene, 2)
      await buy(scene, 2)
      expect(await standing(scene)).toMatchObject({ credits: 44, entries: 3 })
    },
    selling,
  )

  rule(
    '11.8 a start reserves the estimate; the end takes the cost from it and gives the rest back',
    async (scene) => {
      await buy(scene, 100)
      const claim = await scene.running(mine(30))
      expect(await standing(scene)).toMatchObject({ credits: 70, reserved: 30 })
      await complete(scene, claim, 12)
      expect(await standing(scene)).toMatchObject({ credits: 88, reserved: 0, spent: 12 })
      expect(await told(scene)).toEqual([
        ['purchase', 100, 0],
        ['reserve', -30, 30],
        ['settle', 0, -12],
        ['refund', 18, -18],
      ])
      const { taskId } = claim
      expect((await entries(scene, 1)).map(({ taskId: of, why }) => [of, why])).toEqual([
        [taskId, `task ${taskId} started, and its estimate of 30 is reserved`],
        [taskId, `task ${taskId} is over and has cost 12, out of what was reserved`],
        [taskId, `task ${taskId} has cost 18 less than was reserved`],
      ])
    },
    selling,
  )

  rule(
    '11.8 a task that cost more than its estimate takes the rest from the free credits, below 0 if need be',
    async (scene) => {
      await buy(scene, 10)
      await complete(scene, await scene.running(mine(8)), 15)
      expect(await standing(scene)).toMatchObject({ credits: -5, reserved: 0, spent: 15 })
      expect((await told(scene)).at(-1)).toEqual(['settle', -7, -8])
    },
    selling,
  )

  rule(
    '11.8 a task that goes back to the queue keeps what is reserved for it, and a canceled one has cost its estimate',
    async (scene) => {
      await buy(scene, 10)
      const claim = await scene.running(mine(4))
      await scene.write({ kind: 'release', leaseId: claim.leaseId, reason: 'yielded' })
      expect(await standing(scene)).toMatchObject({ credits: 6, reserved: 4 })
      await scene.cancel(claim.taskId)
      expect(await standing(scene)).toMatchObject({ credits: 6, reserved: 0 })
      expect(await told(scene)).toEqual([
        ['purchase', 10, 0],
        ['reserve', -4, 4],
        ['settle', 0, -4],
      ])
    },
    selling,
  )

  rule(
    '11.8 a client that had credits before its first entry brings them in, and credits that are set stand there too',
    async (scene) => {
      await buy(scene, 5)
      await scene.write({ kind: 'putClient', name: 'ada', credits: 7 })
      await scene.write({ kind: 'putClient', name: 'ada', tier: 'contracted' })
      expect(await told(scene)).toEqual([
        ['opening', 1_000, 0],
        ['purchase', 5, 0],
        ['set', -998, 0],
      ])
      expect(await standing(scene)).toMatchObject({ credits: 7 })
    },
    ledger(),
  )

  rule('11.8 without shares a client is bought for and set as often as one likes', async (scene) => {
    await buy(scene, 1, { key: 'k' })
    await buy(scene, 2)
    await scene.write({ kind: 'putClient', name: 'ada', credits: 7 })
    await scene.write({ kind: 'putClient', name: 'ada', tier: 'contracted' })
    await buy(scene, 4)
    expect(await standing(scene)).toMatchObject({ credits: 11, tier: 'contracted', entries: 5 })
    expect((await told(scene)).map(([kind]) => kind)).toEqual([
      'opening',
      'purchase',
      'purchase',
      'set',
      'purchase',
    ])
  })

  rule(
    '11.8 entries are read in pages, the oldest first',
    async (scene) => {
      for (const amount of [1, 2, 3]) await buy(scene, amount)
      expect((await entries(scene, 0, 2)).map(({ seq }) => seq)).toEqual([1, 2])
      expect((await entries(scene, 2, 2)).map(({ amount }) => amount)).toEqual([3])
      expect(await scene.read({ kind: 'ledger', name: 'nobody' })).toEqual([])
    },
    selling,
  )

  rule(
    '11.8 nobody has more than 1e9 credits, and a client above maxClients buys none',
    async (scene) => {
      await buy(scene, 1e9)
      expect(await buy(scene, 0.000_001)).toEqual({ as: 'too_many', credits: 1e9 })
      expect(await buy(scene, 1, { name: 'bob' })).toEqual({ as: 'full' })
    },
    { config: { shares: { ledger: true, startCredits: 0 }, maxClients: 1 } },
  )

  rule(
    '11.8 a client whose waiting tasks hold credits stays; one that is removed takes its ledger with it',
    async (scene) => {
      await buy(scene, 10, { key: 'k' })
      const claim = await scene.running(mine(4))
      await scene.write({
        kind: 'suspend',
        leaseId: claim.leaseId,
        waits: [{ key: 'nap', position: 0, kind: 'timer', delayMs: 1_000 }],
        stay: false,
      })
      const remove = () => scene.write({ kind: 'removeClient', name: 'ada' })
      expect(await remove()).toMatchObject({ as: 'busy', client: { reserved: 4 } })
      await scene.cancel(claim.taskId)
      expect(await remove()).toEqual({ as: 'removed' })
      expect(await entries(scene)).toEqual([])
      expect(await buy(scene, 3, { key: 'k' })).toMatchObject({ deduplicated: false, entry: { seq: 1 } })
    },
    selling,
  )

  timed(
    '11.8 old entries are folded into one that has their sums; what came after them stays as it was',
    async (scene) => {
      await buy(scene, 100, { note: 'invoice 7' })
      await complete(scene, await scene.running(mine(30)), 12)
      await scene.pass(59_999)
      await buy(scene, 5)
      expect(await fold(scene)).toBe(0)
      await scene.pass(1)
      const before = await entries(scene)
      expect(await fold(scene, true)).toBe(4)
      expect(await entries(scene)).toEqual(before)
      expect(await fold(scene)).toBe(4)
      const [opening, ...later] = await entries(scene)
      expect(isNote(opening?.note, 4)).toBe(true)
      expect(opening).toMatchObject({
        seq: 4,
        at: before[3]?.at,
        kind: 'opening',
        amount: 88,
        held: 0,
        credits: 88,
        reserved: 0,
        why: 'the entries up to this one were folded into it: 4 entries, which came to 88 free credits and 0 reserved ones',
      })
      expect(later).toEqual(before.slice(4))
      expect(await standing(scene)).toMatchObject({ credits: 93, reserved: 0, spent: 12, entries: 5 })
      expect(await fold(scene)).toBe(0)
      await buy(scene, 1)
      expect((await entries(scene)).map(({ seq }) => seq)).toEqual([4, 5, 6])
    },
    folding,
  )

  timed(
    '11.8 a second fold goes on from the first: it counts all entries, and its hash is chained with that of the first',
    async (scene) => {
      const note = async () => (await entries(scene))[0]?.note
      await buy(scene, 1)
      await buy(scene, 2)
      await scene.pass(60_000)
      expect(await fold(scene)).toBe(2)
      const first = await note()
      await buy(scene, 3)
      await scene.pass(60_000)
      expect(await fold(scene, true)).toBe(1)
      expect(await fold(scene)).toBe(1)
      expect(await told(scene)).toEqual([['opening', 6, 0]])
      expect(isNote(await note(), 3)).toBe(true)
      expect((await note())?.slice(-64)).not.toBe(first?.slice(-64))
    },
    folding,
  )

  timed(
    '11.8 entries stay whose task is not over: the fold ends before what reserved its credits',
    async (scene) => {
      await buy(scene, 5)
      await buy(scene, 5)
      const claim = await scene.running(mine(4))
      await buy(scene, 5)
      await scene.pass(60_000)
      expect(await fold(scene)).toBe(2)
      expect(await told(scene)).toEqual([
        ['opening', 10, 0],
        ['reserve', -4, 4],
        ['purchase', 5, 0],
      ])
      await complete(scene, claim, 3)
      expect(await fold(scene)).toBe(2)
      // The end of the task is young, and settles what is in the opening entry now.
      expect(await told(scene)).toEqual([
        ['opening', 11, 4],
        ['settle', 0, -3],
        ['refund', 1, -1],
      ])
      expect(await standing(scene)).toMatchObject({ credits: 12, reserved: 0, spent: 3 })
    },
    folding,
  )

  timed(
    '11.8 a purchase with a key is kept for keysMs, and what comes after it; once it is folded the key buys again',
    async (scene) => {
      await buy(scene, 1)
      await buy(scene, 1)
      await buy(scene, 40, { key: 'k' })
      await buy(scene, 2)
      await scene.pass(60_000)
      expect(await fold(scene)).toBe(2)
      expect(await buy(scene, 40, { key: 'k' })).toMatchObject({ deduplicated: true, entry: { seq: 3 } })
      await scene.pass(60_000)
      expect(await fold(scene)).toBe(2)
      expect(await buy(scene, 40, { key: 'k' })).toMatchObject({ deduplicated: false, entry: { seq: 5 } })
      expect(await standing(scene)).toMatchObject({ credits: 84, entries: 5 })
    },
    folding,
  )

  timed(
    '11.8 a ledger is folded in parts, and one of several clients after the other',
    async (scene) => {
      const names = ['', 'ada', 'bob', 'cyd']
      for (const name of names)
        await scene.settled(
          Promise.all(
            Array.from({ length: name === 'bob' ? 2_100 : 3 }, () =>
              scene.store.write({ kind: 'purchaseCredits', name, amount: 1 }),
            ),
          ),
        )
      await scene.pass(60_000)
      expect(await fold(scene, true)).toBe(2_109)
      expect(await fold(scene)).toBe(2_109)
      for (const name of names) {
        const sum = name === 'bob' ? 2_100 : 3
        const found = await scene.read({ kind: 'ledger', name })
        expect(found).toMatchObject([{ seq: sum, kind: 'opening', amount: sum, credits: sum }])
      }
    },
    folding,
  )

  timed(
    '11.8 a client that is removed takes its opening entry with it, and begins again at 1',
    async (scene) => {
      const buyTwice = async () => {
        await buy(scene, 2)
        await buy(scene, 3)
        await scene.pass(60_000)
        return fold(scene)
      }
      expect(await buyTwice()).toBe(2)
      expect(await scene.write({ kind: 'removeClient', name: 'ada' })).toEqual({ as: 'removed' })
      expect(await entries(scene)).toEqual([])
      expect(await buyTwice()).toBe(2)
      expect(await told(scene)).toEqual([['opening', 5, 0]])
    },
    folding,
  )

  timed(
    '11.8 without an age for them entries are kept',
    async (scene) => {
      await buy(scene, 2)
      await buy(scene, 3)
      await scene.pass(600_000)
      expect(await fold(scene)).toBe(0)
    },
    { config: { ...selling.config, retention: {} } },
  )

  rule(
    '12.5 a task that ends later than was promised says so before its end, whatever the end is',
    async (scene) => {
      const labels = { agreement: 'gold', 'agreement.latencyMs': '1000' }
      const inTime = await scene.running({ labels })
      await scene.pass(1_000)
      await scene.settle(inTime)
      expect((await scene.eventTypes(inTime.taskId)).slice(-1)).toEqual(['task.completed'])
      expect(await scene.eventTypes(inTime.taskId)).toHaveLength(3)
      const late = await scene.running({ labels })
      const queued = await scene.accepted({ labels })
      await scene.pass(1_001)
      await scene.settle(late)
      await scene.cancel(queued)
      for (const [taskId, end] of [
        [late.taskId, 'task.completed'],
        [queued, 'task.canceled'],
      ] as const) {
        const history = await scene.history(taskId)
        expect(history.slice(-2).map(({ type }) => type)).toEqual(['agreement.missed', end])
        const missed = history.at(-2)
        expect(JSON.parse(missed?.data ?? '')).toEqual({ agreement: 'gold', latencyMs: 1_000, lateMs: 1 })
        expect(missed?.at).toBe(history.at(-1)?.at)
      }
    },
    { config: {} },
  )

  rule(
    '11.9 out of credits: a task stays queued until its client buys some, and others go past it',
    async (scene) => {
      await scene.worker('w', 2)
      await buy(scene, 4)
      const taskId = await scene.accepted(mine(5))
      await scene.idle()
      expect(await scene.hasClaim()).toBe(false)
      const explained = await scene.read({ kind: 'explain', taskId })
      expect(explained).toMatchObject({
        waitsFor: 'credits',
        start: { startsInMs: null, restsOn: { as: 'nothing', because: 'no_credits' } },
      })
      expect(explained?.summary).toBe(
        'client ada has 4 credits, and the task that comes next in its queue is estimated to cost 5: 1 missing; the client was asked for them; buy credits with credits.purchase, or agent-runtime credits buy ada AMOUNT',
      )
      const short = { client: 'ada', credits: 4, asked: 5, missing: 1, since: scene.now }
      expect(explained?.credits).toEqual(short)
      expect((await scene.read({ kind: 'waits' })).reasons).toMatchObject([
        { reason: 'credits', count: 1, clients: [{ ...short, count: 1 }] },
      ])
      await buy(scene, 1, { name: 'bob' })
      await scene.accepted({ client: 'bob', cost: 1 })
      expect(await scene.claim()).toMatchObject({ workerId: 'w' })
      await buy(scene, 1)
      expect(await scene.claim()).toMatchObject({ taskId })
      expect(await standing(scene)).toMatchObject({ credits: 0, reserved: 5 })
    },
    selling,
  )

  const asked = async (scene: Scene, taskId: string) =>
    (await scene.history(taskId)).flatMap(({ type, data }) =>
      type === 'credits.asked' ? [JSON.parse(data) as EventData['credits.asked']] : [],
    )

  rule(
    '11.9 the client is asked for credits once, however many tasks wait, until it has so many',
    async (scene) => {
      await scene.worker('w', 2)
      await buy(scene, 2)
      const first = await scene.accepted(mine(5))
      const since = scene.now
      const second = await scene.accepted(mine(4, { lane: 'batch' }))
      await scene.idle()
      const [[asks], later] = [await asked(scene, first), await asked(scene, second)]
      expect(asks).toEqual({ asked: 5, client: 'ada', credits: 2, entry: 1, missing: 3, tasks: 1 })
      expect(later).toEqual([])
      expect((await standing(scene))?.asks).toEqual({ taskId: first, asked: 5, missing: 3, since })
      await scene.pass(1_000)
      await buy(scene, 1)
      await scene.idle()
      expect((await standing(scene))?.asks).toEqual({ taskId: first, asked: 5, missing: 2, since })
      await buy(scene, 2)
      expect(await scene.claim()).toMatchObject({ taskId: first })
      // The credits went to the first: now it is the other one that lacks them.
      await scene.idle()
      expect(await asked(scene, first)).toHaveLength(1)
      expect(await asked(scene, second)).toMatchObject([
        { asked: 4, credits: 0, entry: 4, missing: 4, tasks: 1 },
      ])
      await buy(scene, 4)
      expect(await scene.claim()).toMatchObject({ taskId: second })
      expect((await standing(scene))?.asks).toBe(undefined)
    },
    selling,
  )

  rule(
    '11.9 a purchase answers the request, also while its task waits for a slot',
    async (scene) => {
      await scene.worker('w', 1)
      await buy(scene, 1, { name: 'bob' })
      const taskId = await scene.accepted(mine(5))
      await scene.accepted({ client: 'bob', cost: 1 })
      await scene.claim()
      expect(await standing(scene)).toMatchObject({ asks: { taskId, missing: 5 } })
      await buy(scene, 5)
      await scene.idle()
      expect((await standing(scene))?.asks).toBe(undefined)
      expect(await scene.state(taskId)).toBe('queued')
    },
    selling,
  )

  rule(
    '11.9 a request for credits ends with its task in the queue, and the next one asks',
    async (scene) => {
      await scene.worker('w', 1)
      const first = await scene.accepted(mine(5))
      const second = await scene.accepted(mine(4))
      await scene.idle()
      await scene.cancel(first)
      await scene.idle()
      expect(await standing(scene)).toMatchObject({ asks: { taskId: second, asked: 4, missing: 4 } })
      await scene.cancel(second)
      await scene.idle()
      expect((await standing(scene))?.asks).toBe(undefined)
      expect([await asked(scene, first), await asked(scene, second)]).toMatchObject([
        [{ asked: 5 }],
        [{ asked: 4 }],
      ])
    },
    selling,
  )

  rule(
    '11.9 every answer about a client names the task of its request as the submitter named it',
    async (scene) => {
      await scene.worker('w', 1)
      await scene.accepted(mine(5, { taskId: 'order-1' }))
      const since = scene.now
      await scene.idle()
      const asks = { taskId: 'order-1', asked: 5, missing: 5, since }
      expect((await standing(scene))?.asks).toEqual(asks)
      const put = await scene.write({ kind: 'putClient', name: 'ada', tier: 'contracted' })
      expect(put).toMatchObject({ as: 'put', client: { asks } })
      const removed = await scene.write({ kind: 'removeClient', name: 'ada' })
      expect(removed).toMatchObject({ as: 'busy', client: { asks } })
    },
    selling,
  )

  rule(
    '11.9 credits that are set answer the request, too',
    async (scene) => {
      await scene.worker('w', 1)
      const taskId = await scene.accepted(mine(5))
      await scene.idle()
      await scene.write({ kind: 'putClient', name: 'ada', credits: 5 })
      expect(await scene.claim()).toMatchObject({ taskId })
      expect((await standing(scene))?.asks).toBe(undefined)
    },
    selling,
  )

  rule(
    '11.9 nobody is asked before the turn of a task has come',
    async (scene) => {
      const taskId = await scene.accepted(mine(5))
      await scene.idle()
      expect(await asked(scene, taskId)).toEqual([])
      expect((await scene.read({ kind: 'explain', taskId }))?.credits?.since).toBe(undefined)
    },
    selling,
  )

  rule(
    '11.9 the histogram of waiting tasks names the clients that have too few credits, and how many are missing',
    async (scene) => {
      await scene.worker('w', 2)
      await buy(scene, 2)
      await buy(scene, 1, { name: 'bob' })
      for (const [client, lane, cost] of [
        ['ada', 'normal', 5],
        ['ada', 'normal', 1],
        ['ada', 'batch', 3],
        ['bob', 'normal', 1.5],
      ] as const)
        await scene.accepted({ client, lane, cost })
      await scene.idle()
      const [found] = (await scene.read({ kind: 'waits' })).reasons
      expect(found).toMatchObject({ reason: 'credits', state: 'queued', count: 4 })
      expect(found?.clients).toEqual([
        { client: 'ada', credits: 2, asked: 3, missing: 1, since: scene.now, count: 3 },
        { client: 'bob', credits: 1, asked: 1.5, missing: 0.5, since: scene.now, count: 1 },
      ])
    },
    selling,
  )

  rule(
    '11.9 a task with an estimate of 0 needs no credits, also where its client is in debt',
    async (scene) => {
      await scene.worker('w', 2)
      await scene.write({ kind: 'putClient', name: 'ada', credits: 6 })
      const dear = await scene.running(mine(6))
      await complete(scene, dear, 8)
      expect(await standing(scene)).toMatchObject({ credits: -2 })
      const paid = await scene.accepted(mine(0.000_001))
      const free = await scene.accepted(mine(0, { lane: 'batch' }))
      expect((await scene.read({ kind: 'explain', taskId: free }))?.credits).toBe(undefined)
      expect(await scene.claim()).toMatchObject({ taskId: free })
      await scene.idle()
      expect(await scene.state(paid)).toBe('queued')
      expect((await standing(scene))?.asks).toMatchObject({ taskId: paid, missing: 2.000_001 })
    },
    selling,
  )

  rule(
    '11.9 a task that has started goes on without credits when it comes back from a wait',
    async (scene) => {
      await buy(scene, 5)
      const claim = await scene.running(mine(5))
      await scene.write({ kind: 'release', leaseId: claim.leaseId, reason: 'yielded' })
      await scene.write({ kind: 'putClient', name: 'ada', credits: 0 })
      scene.free(claim.workerId)
      expect(await scene.claim()).toMatchObject({ taskId: claim.taskId })
    },
    selling,
  )

  rule(
    '11.9 with reject, a submission that its client’s credits do not cover is refused, with the facts',
    async (scene) => {
      await buy(scene, 4)
      const receipt = await scene.submit(mine(5, { labels: { agreement: 'gold' } }))
      expect(receipt).toMatchObject({
        accepted: false,
        reason: 'quota_exceeded',
        message:
          'client "ada" has 4 credits, and the task under the agreement "gold" is estimated to cost 5: 1 missing; buy credits, and submit it again',
      })
      expect(await scene.read({ kind: 'explain', taskId: receipt.taskId })).toMatchObject({
        verdict: { by: 'credits', client: 'ada', credits: 4, asked: 5 },
      })
      expect(await scene.submit(mine(4))).toMatchObject({ accepted: true })
    },
    ledger({ outOfCredits: 'reject', startCredits: 0 }),
  )

  rule(
    '11.9 without outOfCredits nothing waits for credits',
    async (scene) => {
      await buy(scene, 1)
      await scene.running(mine(5))
      expect(await standing(scene)).toMatchObject({ credits: -4, reserved: 5 })
    },
    ledger({ startCredits: 0 }),
  )
}
