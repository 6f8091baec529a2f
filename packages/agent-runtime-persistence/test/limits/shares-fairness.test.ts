import assert from 'node:assert/strict'
import { type Claim } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { openStore } from '../../src/index.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

const runs = Number(process.env['FAIRNESS_RUNS'] ?? draws(2, 12, 40))
const seed = Number(process.env['FAIRNESS_SEED'] ?? 1)

/** They always have tasks queued, which nothing holds back. */
const steady = ['A', 'B', 'C'] as const
/** `D` comes and goes; the tasks of `S` and `T` are held back by a quota that they share, or by one of T's own. */
const others = ['D', 'S', 'T'] as const

const cost = fc.integer({ min: 1, max: 9 })
const programs = fc.record({
  tierPolicy: fc.constantFrom('strict', 'weighted'),
  slots: fc.integer({ min: 1, max: 3 }),
  credits: fc.tuple(...steady.map(() => fc.constantFrom(500, 1_000, 2_000, 4_000))),
  costs: fc.array(cost, { minLength: 7, maxLength: 7 }),
  moves: fc.array(
    fc.oneof(
      { weight: 5, arbitrary: fc.record({ what: fc.constant('complete'), which: fc.nat(2) }) },
      {
        weight: 2,
        arbitrary: fc.record({
          what: fc.constant('submit'),
          of: fc.constantFrom(...others),
          cost,
          limited: fc.boolean(),
        }),
      },
      { weight: 1, arbitrary: fc.record({ what: fc.constant('pass'), ms: fc.constantFrom(1_000, 60_000) }) },
    ),
    { minLength: 40, maxLength: 120 },
  ),
})
type Program = typeof programs extends fc.Arbitrary<infer P> ? P : never

const MICRO = 1e6

/** One program on a store in memory; what is said of fairness holds after each of its moves. */
class Fairness {
  readonly scene: Scene
  readonly costs = new Map<string, number>()
  readonly running: Claim[] = []
  starts = 0
  private readonly program: Program
  private readonly waited = new Map<string, number>(steady.map((name) => [name, 0]))
  private heard = 0
  private submitted = 0
  private largest = 0
  private smallest = Number.POSITIVE_INFINITY

  constructor(scene: Scene, program: Program) {
    this.scene = scene
    this.program = program
  }

  async play(): Promise<void> {
    const { scene, program } = this
    for (const [n, name] of steady.entries())
      await scene.write({ kind: 'putClient', name, credits: program.credits[n] ?? 1_000 })
    await this.topUp()
    await scene.worker('w', program.slots)
    for (const move of program.moves) {
      if (move.what === 'complete') await this.complete(move.which)
      else if (move.what === 'pass') await scene.pass(move.ms)
      else await this.submit(move.of, move.cost, move.limited)
      await this.topUp()
      await this.look()
    }
    await this.drain()
  }

  private async submit(client: string, of: number, limited: boolean): Promise<void> {
    const added = (of * 1_000) / this.creditsOf(client)
    this.largest = Math.max(this.largest, added)
    this.smallest = Math.min(this.smallest, added)
    await this.scene.accepted({ client, cost: of, ...(limited ? { model: 'm' } : {}) })
  }

  private creditsOf(client: string): number {
    return this.program.credits[steady.findIndex((name) => name === client)] ?? 1_000
  }

  private async topUp(): Promise<void> {
    const queued = new Map((await this.scene.read({ kind: 'clients' })).map((it) => [it.name, it.queued]))
    const { costs } = this.program
    for (const name of steady)
      for (let n = queued.get(name) ?? 0; n < 4; n++)
        await this.submit(name, costs[this.submitted++ % costs.length] ?? 1, false)
  }

  private async complete(which: number): Promise<void> {
    const claim = this.running[which % Math.max(1, this.running.length)]
    if (claim === undefined) return
    this.running.splice(this.running.indexOf(claim), 1)
    await this.scene.settle(claim)
    this.scene.free('w')
    await this.scene.idle()
    this.hear()
  }

  private hear(): void {
    for (const claim of this.scene.claims.slice(this.heard)) {
      const { client, cost: of } = JSON.parse(claim.submission) as { client: string; cost: number }
      this.running.push(claim)
      this.costs.set(client, (this.costs.get(client) ?? 0) + of * MICRO)
      this.starts += 1
      for (const [name, waited] of this.waited) this.waited.set(name, name === client ? 0 : waited + 1)
    }
    this.heard = this.scene.claims.length
  }

  private async look(): Promise<void> {
    await this.scene.idle()
    this.hear()
    const clients = await this.scene.read({ kind: 'clients' })
    const times = clients.filter(({ name }) => steady.some((it) => it === name))
    // They began together and never rest: their times are what they were served, by their credits, to the millionth.
    for (const { name, virtualTime } of times) {
      const served = ((this.costs.get(name) ?? 0) * 1_000) / this.creditsOf(name)
      assert.equal(Math.round(virtualTime * MICRO), served, `the time of ${name}`)
    }
    for (const a of times)
      for (const b of times) {
        const gap = a.virtualTime - b.virtualTime
        assert(gap <= this.largest + 1e-5, `${a.name} is ${gap} ahead of ${b.name}, one adds ${this.largest}`)
      }
    const most = (clients.length - 1) * ((2 * this.largest) / this.smallest + 1)
    for (const [name, waited] of this.waited)
      assert(waited <= most, `${name} has waited for ${waited} others, ${most} at the most`)
  }

  /** All comes to an end, also what was held back, and has cost what it cost. */
  private async drain(): Promise<void> {
    const { scene } = this
    for (let windows = 0; (await scene.depth()) + this.running.length > 0; windows++) {
      assert(windows < 200, 'something is never served')
      while (this.running.length > 0) await this.complete(0)
      await scene.pass(60_000)
      this.hear()
    }
    const clients = await scene.read({ kind: 'clients' })
    for (const { name, spent } of clients)
      assert.equal(Math.round(spent * MICRO), this.costs.get(name) ?? 0, `what ${name} has spent`)
  }
}

describe('11.7 other clients may come and go beside them, and may be held back', () => {
  test(
    'clients that always have tasks stay within one task of each other, none waits for ever, each pays its costs',
    { timeout: 300_000 },
    async () => {
      let starts = 0
      await fc.assert(
        fc.asyncProperty(programs, async (it) => {
          const environment = { ...createVirtualEnvironment('fairness'), digest: nodeDigest }
          const defer = { onExceeded: 'defer' } as const
          const { config } = parseExecutionConfig({
            shares: { tierPolicy: it.tierPolicy },
            quotaConfig: {
              models: { m: { perWindow: 1, ...defer } },
              clients: { T: { perWindow: 2, ...defer } },
            },
            leaseTtlMs: 1e9,
            heartbeatIntervalMs: 1e8,
          })
          const store = await openStore('sqlite::memory:', { config, environment })
          const scene = new Scene(store, config, environment.clock, { digest: nodeDigest })
          try {
            const fairness = new Fairness(scene, it)
            await fairness.play()
            starts += fairness.starts
          } finally {
            await store.close()
          }
        }),
        { numRuns: runs, seed },
      )
      expect(starts / runs).toBeGreaterThan(30)
    },
  )
})
