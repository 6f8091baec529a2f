import assert from 'node:assert/strict'
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ExecutionConfig, LedgerEntry } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { openStore, verifyStore } from '../../src/index.ts'
import { besideTheDead, closedStoreFaults } from '../helpers/closed-store.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'

const slots = 3
const name = fc.constantFrom('a', 'b')
const cost = fc.constantFrom(0, 0.000_001, 0.5, 1, 7)
const shares = {
  ledger: { ledger: true, startCredits: 20 },
  parking: { ledger: true, outOfCredits: 'park', startCredits: 2 },
  refusing: { ledger: true, outOfCredits: 'reject' },
  plain: {},
  none: undefined,
} as const
const settings = fc.constantFrom('ledger', 'ledger', 'parking', 'refusing', 'plain', 'none')

type Move = readonly [string, ...(string | number)[]]
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('submit'), name, cost) },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constant('buy'),
      name,
      fc.constantFrom(0.25, 3, 12),
      fc.constantFrom('', 'k', 'l'),
    ),
  },
  { weight: 5, arbitrary: fc.tuple(fc.constant('end'), fc.nat(9), fc.constantFrom(0, 0, 0.25, 3, 30)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('release'), fc.nat(9)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('sleep'), fc.nat(9)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('cancel'), fc.nat(30)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('set'), name, fc.constantFrom(0, 0.5, 40)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('remove'), name) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('fold'), fc.nat(3)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('crash'), settings) },
)

/** A store that is opened again and again, each time as a crash has left it. */
class Life {
  readonly environment = { ...createVirtualEnvironment('ledger'), digest: nodeDigest }
  readonly counted = { crashes: 0, entries: 0, folded: 0, parked: 0, refused: 0 }
  private readonly folder = scratchFolder()
  /** Whose they are: nobody's where they came without shares. */
  private readonly tasks: { readonly taskId: string; readonly client: string }[] = []
  /** Amounts by client and key. */
  private readonly bought = new Map<string, number>()
  private ended = new Set<string>()
  private scene!: Scene
  private config!: ExecutionConfig
  private path = join(this.folder, '0.db')
  private worker = 0

  async open(which: keyof typeof shares): Promise<void> {
    const given = shares[which]
    this.config = parseExecutionConfig({
      ...(given === undefined ? {} : { shares: given }),
      retention: { ledger: { ageMs: 3 }, keysMs: 3, completed: 'forever', canceled: 'forever' },
      leaseTtlMs: 1e9,
      heartbeatIntervalMs: 1e8,
    }).config
    const { config, environment } = this
    // The process before, which has no lock in this copy, is not taken for dead for a while: its settings are none of this one's.
    const opening = { config, environment, durability: 'normal', settings: 'own' } as const
    const store = await openStore(`sqlite:${this.path}`, opening)
    this.scene = new Scene(store, config, environment.clock, { digest: nodeDigest })
    await this.scene.worker(`w${this.worker++}`, slots)
  }

  async close(): Promise<void> {
    for (const client of await this.scene.read({ kind: 'clients' }))
      assert.equal(client.reserved, await this.heldBy(client.name))
    await this.scene.store.close()
    assert.deepEqual((await verifyStore(`sqlite:${this.path}`)).faults, [])
  }

  async play([what, ...args]: Move): Promise<void> {
    const { scene } = this
    const [which = 0] = args as number[]
    const live = scene.claims.filter(({ leaseId }) => !this.ended.has(leaseId))
    const claim = live[which % Math.max(1, live.length)]
    const over = (leaseId: string) => {
      this.ended.add(leaseId)
      scene.free(`w${this.worker - 1}`)
    }
    switch (what) {
      case 'submit': {
        const [client, estimate] = args as [string, number]
        const receipt = await scene.submit({ client, cost: estimate })
        if (receipt.accepted)
          this.tasks.push({ ...receipt, client: this.config.shares === undefined ? '' : client })
        else this.counted.refused += 1
        break
      }
      case 'buy': {
        const [client, amount, key] = args as [string, number, string]
        const before = key === '' ? undefined : this.bought.get(client + key)
        const outcome = await scene.write({
          kind: 'purchaseCredits',
          name: client,
          amount,
          ...(key === '' ? {} : { key }),
        })
        const known = before === amount ? { as: 'purchased', deduplicated: true } : { as: 'conflict' }
        assert.partialDeepStrictEqual(
          outcome,
          before === undefined ? { as: 'purchased', deduplicated: false } : known,
        )
        if (key !== '' && before === undefined) this.bought.set(client + key, amount)
        break
      }
      case 'end':
        if (claim === undefined) return
        await scene.write({
          kind: 'settle',
          leaseId: claim.leaseId,
          settlement: { as: 'completed', output: 'null' },
          charged: { tokens: 0, money: 0, cost: Number(args[1]) * 1e6 },
        })
        over(claim.leaseId)
        break
      case 'release':
        if (claim === undefined) return
        await scene.write({ kind: 'release', leaseId: claim.leaseId, reason: 'yielded' })
        over(claim.leaseId)
        break
      case 'sleep': {
        if (claim === undefined) return
        const waits = [{ key: 'nap', position: 0, kind: 'timer', delayMs: 1e9 }] as const
        await scene.write({ kind: 'suspend', leaseId: claim.leaseId, waits, stay: false })
        over(claim.leaseId)
        break
      }
      case 'cancel': {
        const task = this.tasks[which]
        if (task === undefined) return
        const { taskId } = task
        await scene.cancel(taskId)
        const own = live.find((it) => it.taskId === taskId)
        if (own !== undefined) over(own.leaseId)
        break
      }
      case 'set':
        await scene.write({ kind: 'putClient', name: String(args[0]), credits: Number(args[1]) })
        break
      case 'fold': {
        // At 3 all of it is old.
        await scene.pass(which)
        const { folded } = await scene.write({ kind: 'foldLedger', until: scene.now - 3 })
        this.counted.folded += folded
        await this.forgetKeys()
        break
      }
      case 'remove': {
        const outcome = await scene.write({ kind: 'removeClient', name: String(args[0]) })
        if (outcome.as === 'removed') for (const key of ['k', 'l']) this.bought.delete(args[0] + key)
        break
      }
      default:
        await this.crash(args[0] as keyof typeof shares)
    }
  }

  /** A purchase that was folded is known by its key no longer. */
  private async forgetKeys(): Promise<void> {
    for (const client of ['a', 'b']) {
      const entries = await this.scene.read({ kind: 'ledger', name: client, limit: 1_000 })
      for (const key of ['k', 'l'])
        if (!entries.some((entry) => entry.key === key)) this.bought.delete(client + key)
    }
  }

  /** The next process finds what stood in the files at this moment. */
  private async crash(next: keyof typeof shares): Promise<void> {
    await this.scene.idle()
    const copy = join(this.folder, `${this.worker}.db`)
    for (const suffix of ['', '-wal'])
      if (existsSync(this.path + suffix)) copyFileSync(this.path + suffix, copy + suffix)
    await this.close()
    this.path = copy
    this.ended = new Set()
    await this.open(next)
    this.counted.crashes += 1
    assert.deepEqual(besideTheDead(await closedStoreFaults(copy, this.config)), [])
  }

  async standing(client: string) {
    await this.scene.idle()
    const [found] = await this.scene.read({ kind: 'clients', name: client })
    return found
  }

  /** The entries of each client add up to what it has, one by one. */
  async balance(): Promise<void> {
    await this.scene.idle()
    for (const client of await this.scene.read({ kind: 'clients' })) {
      const entries = await this.scene.read({ kind: 'ledger', name: client.name, limit: 1_000 })
      const sum = (of: (entry: LedgerEntry) => number) =>
        entries.reduce((total, entry) => total + Math.round(of(entry) * 1e6), 0) / 1e6
      const has = { credits: sum(({ amount }) => amount), reserved: sum(({ held }) => held) }
      // Numbered without a gap, from the first or from what stands for those before it.
      const [first] = entries
      assert.equal(client.entries, entries.length + (first?.seq ?? 1) - 1)
      assert.ok(first === undefined || first.seq === 1 || first.kind === 'opening')
      if (entries.length > 0) assert.partialDeepStrictEqual(client, has)
      this.counted.entries += entries.length
    }
    const { reasons } = await this.scene.read({ kind: 'waits' })
    if (reasons.some(({ reason }) => reason === 'credits')) this.counted.parked += 1
  }

  /** What the tasks of a client that have started with a ledger and are not over were estimated at. */
  private async heldBy(client: string): Promise<number> {
    let sum = 0
    for (const { taskId } of this.tasks.filter((task) => task.client === client)) {
      const { state } = await this.scene.task(taskId)
      if (state === 'completed' || state === 'canceled') continue
      for (const { type, data } of await this.scene.history(taskId))
        if (type === 'task.started') sum += (JSON.parse(data) as { reserved?: number }).reserved ?? 0
    }
    return sum / 1e6
  }
}

describe('the ledger of credits', () => {
  test('11.8 a process without shares settles what another has reserved', async () => {
    const life = new Life()
    await life.open('ledger')
    await life.play(['submit', 'a', 7])
    expect(await life.standing('a')).toMatchObject({ credits: 13, reserved: 7 })
    await life.play(['crash', 'none'])
    await life.play(['cancel', 0])
    await life.balance()
    expect(await life.standing('a')).toMatchObject({ credits: 13, reserved: 0, entries: 3 })
    await life.close()
  })

  test('11.9 a process that was not given the shares says, too, that a task waits for credits', async () => {
    const path = join(scratchFolder(), 'seen.db')
    const environment = { ...createVirtualEnvironment('seen'), digest: nodeDigest }
    const { config } = parseExecutionConfig({ shares: shares.parking })
    const store = await openStore(`sqlite:${path}`, { config, environment, thread: false })
    const scene = new Scene(store, config, environment.clock)
    await scene.worker('w', 1)
    await scene.write({ kind: 'purchaseCredits', name: 'ada', amount: 1 })
    const busy = await scene.running({ client: 'bob', type: 'other', cost: 1 })
    const agreed = await scene.accepted({ client: 'ada', cost: 5, outOfCredits: 'park' })
    const plain = await scene.accepted({ client: 'ada', cost: 5, type: 'plain' })
    const bystander = await openStore(`sqlite:${path}`, {
      config: parseExecutionConfig({}).config,
      settings: 'own',
      environment,
      thread: false,
    })
    const seen = async (taskId: string) =>
      (await scene.settled(bystander.read({ kind: 'explain', taskId })))?.waitsFor
    // While no slot is free it cannot know of a task without an agreement.
    expect([await seen(agreed), await seen(plain)]).toEqual(['credits', 'slot'])
    await scene.settle(busy)
    scene.free('w')
    await scene.idle()
    expect([await seen(agreed), await seen(plain)]).toEqual(['credits', 'credits'])
    await scene.write({ kind: 'purchaseCredits', name: 'ada', amount: 10 })
    expect([await seen(agreed), await seen(plain)]).toEqual([undefined, 'slot'])
    await bystander.close()
    await store.close()
  })

  test(
    '11.8 balances after any history, through crashes and changes of the settings',
    { timeout: 300_000 },
    async () => {
      const counted = { crashes: 0, entries: 0, folded: 0, parked: 0, refused: 0 }
      await fc.assert(
        fc.asyncProperty(settings, fc.array(move, { minLength: 25, maxLength: 70 }), async (first, moves) => {
          const life = new Life()
          await life.open(first)
          for (const it of moves) {
            await life.play(it)
            await life.balance()
          }
          await life.close()
          for (const [what, count] of Object.entries(life.counted))
            counted[what as keyof typeof counted] += count
        }),
        { numRuns: Number(process.env['LEDGER_RUNS'] ?? draws(3, 20, 100)), seed: 7 },
      )
      expect(Object.entries(counted).filter(([, count]) => count === 0)).toEqual([])
    },
  )
})
