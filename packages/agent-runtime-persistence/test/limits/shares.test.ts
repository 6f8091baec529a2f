import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type ExecutionConfig, lanes } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { openStore, verifyStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { type OracleTask, SharesOracle } from '../helpers/shares-oracle.ts'

const runs = Number(process.env['SHARES_RUNS'] ?? draws(2, 20, 60))
const seed = Number(process.env['SHARES_SEED'] ?? 1)
const slots = 3

const name = fc.constantFrom('a', 'b', 'c', 'd')
const move = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(
      fc.constant('submit'),
      name,
      fc.nat(2),
      fc.constantFrom(0, 0.5, 1, 1, 7),
      fc.constantFrom('', '', 'm', 'm', 'n'),
    ),
  },
  { weight: 4, arbitrary: fc.tuple(fc.constant('complete'), fc.nat(9), fc.constantFrom(0, 0, 2, 30)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('release'), fc.nat(9)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('cancel'), fc.nat(30)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('set'), name, fc.constantFrom(0.5, 500, 4_000), fc.nat(1)) },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('buy'),
      name,
      fc.constantFrom(1, 0.5, 12),
      fc.constantFrom('', '', 'k', 'l'),
    ),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant('advance'), fc.constantFrom(400, 1_000, 2_500, 60_000)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('restart')) },
)
const limits = {
  'model:m': { maxInFlight: 1 },
  'model:n': { perWindow: 2 },
  'client:a': { perWindow: 5 },
  'client:b': { maxInFlight: 1 },
}
const settings = fc
  .record({
    tierPolicy: fc.constantFrom('strict', 'weighted'),
    keying: fc.constantFrom('dispatch', 'dispatch', 'enqueue'),
    placement: fc.constantFrom('floor', 'floor', 'zero'),
    ledger: fc.boolean(),
    startCredits: fc.constantFrom(1_000, 20),
    outOfCredits: fc.constantFrom('run', 'park'),
  })
  .map(({ outOfCredits, ...it }) => ({ ...it, outOfCredits: it.ledger ? outOfCredits : 'run' }))

type Move = readonly [string, ...(string | number)[]]

interface LifeSettings {
  readonly agingMs: number | undefined
  readonly isShared: boolean
  readonly hasQuotas: boolean
}

/** One life of a store, and of the oracle beside it. */
class Life {
  readonly environment = { ...createVirtualEnvironment('shares'), digest: nodeDigest }
  readonly taskIds = new Map<number, string>()
  readonly leaseIds = new Map<number, string>()
  readonly config: ExecutionConfig
  readonly oracle: SharesOracle
  readonly path: string
  scene!: Scene
  worker = 0
  heard = 0
  private other: Scene | undefined
  private calls = 0
  /** Amounts by client and key. */
  private readonly bought = new Map<string, number>()
  private readonly isShared: boolean

  constructor(path: string, given: object, { agingMs, isShared, hasQuotas }: LifeSettings) {
    this.path = path
    this.isShared = isShared
    const defer = { onExceeded: 'defer' } as const
    const quotas = {
      models: { m: { ...limits['model:m'], ...defer }, n: { ...limits['model:n'], ...defer } },
      clients: { a: { ...limits['client:a'], ...defer }, b: { ...limits['client:b'], ...defer } },
    }
    const aging = agingMs === undefined ? {} : { agingMs }
    this.config = parseExecutionConfig({
      shares: given,
      leaseTtlMs: 1e9,
      heartbeatIntervalMs: 1e8,
      ...aging,
      ...(hasQuotas ? { quotaConfig: quotas } : {}),
    }).config
    assert(this.config.shares !== undefined)
    const startedAt = this.environment.clock.now()
    this.oracle = new SharesOracle(this.config.shares, agingMs, slots, {
      startedAt,
      limits: hasQuotas ? limits : {},
    })
  }

  async open(): Promise<void> {
    const { config, environment } = this
    const store = await openStore(`sqlite:${this.path}`, { config, environment, durability: 'normal' })
    this.scene = new Scene(store, config, environment.clock, { digest: nodeDigest })
    this.heard = 0
    if (this.isShared) await this.openOther()
    await this.scene.worker(`w${this.worker++}`, slots)
  }

  /** Another process, which runs nothing: what it does must be found by the one that does. */
  private async openOther(): Promise<void> {
    const { clock } = this.environment
    const environment = {
      ...createVirtualEnvironment(`other ${this.worker}`),
      digest: nodeDigest,
      clock,
      timers: clock,
    }
    const { config } = this
    const store = await openStore(`sqlite:${this.path}`, { config, environment, durability: 'normal' })
    this.other = new Scene(store, config, clock, { digest: nodeDigest })
    await this.scene.pass(1_000)
    this.oracle.now += 1_000
  }

  /** Every other submission, cancellation and setting comes from the other process. */
  private get caller(): Scene {
    this.calls += 1
    return this.other !== undefined && this.calls % 2 === 0 ? this.other : this.scene
  }

  async close(): Promise<void> {
    await this.other?.store.close()
    await this.scene.store.close()
  }

  /** The store has started what the oracle has, in its order. */
  async compare(): Promise<void> {
    await this.scene.idle()
    if (this.other !== undefined) {
      await this.scene.pass(100)
      this.oracle.now += 100
    }
    const fresh = this.scene.claims.slice(this.heard)
    this.heard = this.scene.claims.length
    for (const { sequence, leaseId } of fresh) this.leaseIds.set(sequence, leaseId)
    assert.deepEqual(
      fresh.map(({ sequence }) => sequence),
      this.oracle.started.splice(0),
    )
    const { tasks } = this.oracle
    const count = (client: string, state: OracleTask['state']) =>
      tasks.filter((task) => task.client.name === client && task.state === state).length
    assert.deepEqual(
      (await this.scene.read({ kind: 'clients', limit: 10 })).map((it) => ({ ...it, entries: 0 })),
      [...this.oracle.clients.values()]
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map((it) => ({
          name: it.name,
          credits: it.credits / 1e6,
          tier: it.tier,
          virtualTime: it.written / 1e6,
          spent: it.spent / 1e6,
          reserved: this.oracle.reserved(it) / 1e6,
          entries: 0,
          queued: count(it.name, 'queued'),
          running: count(it.name, 'running'),
          ...(this.config.shares?.dominant === undefined ? {} : { dominantShare: this.oracle.dominant(it) }),
        })),
    )
  }

  async play([what, ...args]: Move): Promise<void> {
    const { oracle, scene } = this
    const running = oracle.tasks.filter(({ state }) => state === 'running')
    const [which = 0] = args as number[]
    const lease = () => {
      const task = running[which % Math.max(1, running.length)]
      return task === undefined ? undefined : { task, leaseId: this.leaseIds.get(task.sequence) ?? '' }
    }
    switch (what) {
      case 'submit': {
        const [client, lane, cost, of] = args as [string, number, number, string]
        const model = of === '' ? {} : { model: of }
        const tokens = 4 * (lane + 1)
        const submission = { client, lane: lanes[lane] ?? 'normal', cost, tokens, ...model }
        const receipt = await this.caller.submit(submission)
        this.taskIds.set(receipt.sequence, receipt.taskId)
        return oracle.submit(receipt.sequence, client, submission.lane, cost, model.model, tokens)
      }
      case 'complete': {
        const held = lease()
        if (held === undefined) return
        const used = Number(args[1])
        await scene.write({
          kind: 'settle',
          leaseId: held.leaseId,
          settlement: { as: 'completed', output: 'null' },
          ...(used === 0 ? {} : { charged: { tokens: 0, money: 0, cost: used * 1e6 } }),
        })
        oracle.finish(held.task, used)
        return this.free()
      }
      case 'release': {
        const held = lease()
        if (held === undefined) return
        await scene.write({ kind: 'release', leaseId: held.leaseId, reason: 'yielded' })
        oracle.requeue(held.task)
        return this.free()
      }
      case 'cancel': {
        const task = oracle.tasks.find(({ sequence, state }) => sequence === which + 1 && state !== 'over')
        if (task === undefined) return
        const wasRunning = task.state === 'running'
        await this.caller.cancel(this.taskIds.get(task.sequence) ?? '')
        oracle.cancel(task)
        return wasRunning ? this.free() : undefined
      }
      case 'set': {
        const [client, credits, tier] = args as [string, number, number]
        const tiers = ['contracted', 'marketplace'] as const
        await this.caller.write({
          kind: 'putClient',
          name: client,
          credits,
          tier: tiers[tier] ?? 'marketplace',
        })
        return oracle.set(client, credits, tiers[tier])
      }
      case 'buy': {
        const [client, amount, key] = args as [string, number, string]
        const before = this.bought.get(client + key)
        const outcome = await this.caller.write({
          kind: 'purchaseCredits',
          name: client,
          amount,
          ...(key === '' ? {} : { key }),
        })
        if (before !== undefined) {
          const expected = before === amount ? { as: 'purchased', deduplicated: true } : { as: 'conflict' }
          assert.equal(outcome.as, expected.as)
          return
        }
        assert.equal(outcome.as, 'purchased')
        if (key !== '') this.bought.set(client + key, amount)
        return oracle.buy(client, amount)
      }
      case 'advance':
        await scene.jump(which)
        return oracle.advance(which)
      default:
        return this.restart()
    }
  }

  /** What runs goes back first: nobody would free its slot. */
  private async restart(): Promise<void> {
    const { oracle } = this
    for (const task of oracle.tasks.filter(({ state }) => state === 'running')) {
      await this.scene.cancel(this.taskIds.get(task.sequence) ?? '')
      oracle.cancel(task)
    }
    await this.close()
    oracle.slots = slots
    await this.open()
    oracle.claim()
  }

  private free(): void {
    this.scene.free(`w${this.worker - 1}`)
    this.oracle.free()
  }
}

describe('shares', () => {
  const play = async (
    aging: fc.Arbitrary<number | undefined>,
    lives: number,
    {
      isShared = false,
      hasQuotas = false,
      dominant,
    }: {
      readonly isShared?: boolean
      readonly hasQuotas?: boolean
      readonly dominant?: Readonly<Record<string, number>>
    } = {},
  ) => {
    const folder = scratchFolder()
    const moved = { pools: 0, clients: 0 }
    let files = 0
    let starts = 0
    await fc.assert(
      fc.asyncProperty(
        // What of them knows nothing of quotas is left to the others.
        hasQuotas
          ? settings.map((it) => ({ ...it, keying: 'dispatch', placement: 'floor' }))
          : dominant === undefined
            ? isShared
              ? // A parked client counts as held back, and how far it went on meanwhile only the process knows whose round passed it over.
                settings.map((it) => ({ ...it, outOfCredits: 'run' }))
              : settings
            : settings.map((it) => ({ ...it, keying: 'dispatch', outOfCredits: 'run', dominant })),
        aging,
        fc.array(move, { minLength: 30, maxLength: 120 }),
        async (given, agingMs, moves) => {
          const life = new Life(join(folder, `${files++}.db`), given, { agingMs, isShared, hasQuotas })
          await life.open()
          try {
            for (const it of moves as readonly Move[]) {
              // How far a pool was ahead is not kept, which the oracle does not know.
              if ((hasQuotas || dominant !== undefined) && it[0] === 'restart') continue
              await life.play(it)
              starts += life.oracle.started.length
              await life.compare()
            }
          } finally {
            await life.close()
          }
          assert.deepEqual((await verifyStore(`sqlite:${life.path}`)).faults, [])
          moved.pools += life.oracle.moved.pools
          moved.clients += life.oracle.moved.clients
        },
      ),
      { numRuns: lives, seed },
    )
    return { starts: starts / lives, pools: moved.pools / lives, clients: moved.clients / lives }
  }

  test(
    'the store starts what a look at everything would choose, through restarts',
    { timeout: 600_000 },
    async () => {
      const { starts } = await play(fc.constantFrom(undefined, undefined, 1_000), runs)
      expect(starts).toBeGreaterThan(10)
    },
  )

  test(
    '11.3 with quotas: who is held back does not count, and comes back beside the others',
    { timeout: 600_000 },
    async () => {
      const { starts, pools, clients } = await play(fc.constant(undefined), runs, { hasQuotas: true })
      expect(starts).toBeGreaterThan(10)
      expect(pools).toBeGreaterThan(draws(0, 0.5))
      expect(clients).toBeGreaterThan(draws(0, 0.5))
    },
  )

  test('the store finds what another process has changed', { timeout: 600_000 }, async () => {
    const { starts } = await play(fc.constant(undefined), Math.ceil(runs / 2), { isShared: true })
    expect(starts).toBeGreaterThan(10)
  })

  test('11.10 with capacities it chooses by what runs', { timeout: 600_000 }, async () => {
    const dominant = { compute: 10, 'model:m': 30 }
    const aging = fc.constantFrom(undefined, undefined, 1_000)
    const { starts } = await play(aging, Math.ceil(runs / 2), { dominant })
    expect(starts).toBeGreaterThan(10)
  })

  test('11.10 the store finds what another process has ended', { timeout: 600_000 }, async () => {
    const dominant = { compute: 10 }
    const { starts } = await play(fc.constant(undefined), Math.ceil(runs / 2), { isShared: true, dominant })
    expect(starts).toBeGreaterThan(10)
  })

  test('11.3 a client that was held back before a restart comes back beside the others, too', async () => {
    const path = join(scratchFolder(), 'held.db')
    const environment = { ...createVirtualEnvironment('held'), digest: nodeDigest }
    const { config } = parseExecutionConfig({
      shares: {},
      quotaConfig: { models: { m: { perWindow: 2, onExceeded: 'defer' } } },
      leaseTtlMs: 1e9,
      heartbeatIntervalMs: 1e8,
    })
    const openScene = async () => {
      const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
      return new Scene(store, config, environment.clock, { digest: nodeDigest })
    }
    const serve = async (scene: Scene, count: number) => {
      let order = ''
      for (let n = 0; n < count; n++) {
        scene.free('w')
        const claim = await scene.claim()
        order += (JSON.parse(claim.submission) as { client: string }).client
        await scene.settle(claim)
      }
      return order
    }
    const scene = await openScene()
    await scene.submitMany(6, { client: 'S', model: 'm' })
    await scene.submitMany(40, { client: 'B' })
    await scene.worker('w', 1, ['*'], 0)
    expect(await serve(scene, 12)).toBe('SBSBBBBBBBBB')
    await scene.store.close()
    environment.clock.advanceBy(60_000)

    const again = await openScene()
    try {
      await again.worker('w', 1, ['*'], 0)
      expect(await serve(again, 6)).toBe('SBSBBB')
      await again.pass(60_000)
      expect(await serve(again, 6)).toBe('SBSBBB')
    } finally {
      await again.store.close()
    }
  })

  test('11.10 a process that begins later knows what the tasks of others hold', async () => {
    const path = join(scratchFolder(), 'dominant.db')
    const environment = { ...createVirtualEnvironment('dominant'), digest: nodeDigest }
    const { clock } = environment
    const { config } = parseExecutionConfig({
      shares: { dominant: { 'tool:browser': 4, 'model:m': 100 } },
      leaseTtlMs: 1e9,
      heartbeatIntervalMs: 1e8,
    })
    const openScene = async (process: string) => {
      const own = { ...createVirtualEnvironment(process), digest: nodeDigest, clock, timers: clock }
      const store = await openStore(`sqlite:${path}`, { config, environment: own, durability: 'normal' })
      return new Scene(store, config, clock, { digest: nodeDigest })
    }
    const clientOf = async (scene: Scene) => {
      const { submission } = await scene.claim()
      return (JSON.parse(submission) as { client: string }).client
    }
    const first = await openScene('first')
    // A has had nothing yet by virtual time, once B has spent; but A holds two browsers, and B a tenth of the tokens.
    await first.submitMany(2, { client: 'A', tools: ['browser'], cost: 0 })
    await first.submitMany(1, { client: 'B', model: 'm', tokens: 10, cost: 50 })
    await first.worker('w', 3)
    expect([await clientOf(first), await clientOf(first), await clientOf(first)].toSorted()).toEqual([
      'A',
      'A',
      'B',
    ])
    await first.submitMany(2, { client: 'A', tools: ['browser'], cost: 0 })
    await first.submitMany(2, { client: 'B', model: 'm', tokens: 20 })
    const second = await openScene('second')
    await second.worker('v', 3)
    expect([await clientOf(second), await clientOf(second), await clientOf(second)]).toEqual(['B', 'B', 'A'])
    const shown = async (scene: Scene) =>
      (await scene.read({ kind: 'clients' })).map(({ name: of, dominantShare }) => [of, dominantShare])
    const expected = [
      ['A', 0.75],
      ['B', 0.5],
    ]
    expect([await shown(first), await shown(second)]).toEqual([expected, expected])
    await first.store.close()
    await second.store.close()
    expect((await verifyStore(`sqlite:${path}`)).faults).toEqual([])
  })
})
