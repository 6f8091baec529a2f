import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Claim } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment, SeededRandom, testDigest } from '@ku0/agent-runtime-core/testing'
import { openStore } from '@ku0/agent-runtime-persistence'
import { expect, test } from 'vitest'
import { draws } from '../../../tools/draws.ts'
import { parseTrace } from '../src/work/trace.ts'

const recorded = resolve(import.meta.dirname, '../../../../shared/data/azure-llm-code.csv')
const credits = [4_000, 2_000, 1_000, 1_000]
const load = 1.2
/**
 * How often the hour is played, with rows numbered on, so that a large request falls to another client each time. A round takes some
 * three seconds of real time.
 */
const rounds = Number(process.env['TRACE_ROUNDS'] ?? draws(2, 2, 3))
/**
 * Starts in a row, while all are backlogged, from which on shares can be told: a shorter stretch is hardly more than its two ends, and
 * whoever began or ended it has a start more than the others.
 */
const stretchStarts = 20

interface Request {
  readonly afterMs: number
  readonly tokens: number
}

/** A recorded hour of requests where there is one, else requests that are drawn: rushes and lulls of a minute, of many sizes. */
function requests(): readonly Request[] {
  if (existsSync(recorded))
    return parseTrace(readFileSync(recorded, 'utf8'), recorded).map(({ afterMs, generatedTokens }) => ({
      afterMs,
      tokens: generatedTokens,
    }))
  const random = new SeededRandom('trace')
  let afterMs = 0
  let left = 0
  let isRush = false
  return Array.from({ length: 8_000 }, () => {
    if (left === 0) {
      isRush = !isRush
      left = isRush ? 400 + random.int(400) : 100 + random.int(100)
    }
    left -= 1
    afterMs += random.next() * (isRush ? 100 : 3_000)
    return { afterMs, tokens: Math.ceil(4 * Math.exp(random.next() * 3.2)) }
  })
}

test(
  'clients that ask for 120 % of the capacity are served by their credits while all are backlogged',
  {
    timeout: 600_000,
  },
  async () => {
    const { config } = parseExecutionConfig({
      shares: {},
      queueDepthLimit: 1_000_000,
      batchBackpressureThreshold: 1_000_000,
      leaseTtlMs: 1e9,
      heartbeatIntervalMs: 1e8,
    })
    const environment = { ...createVirtualEnvironment('trace'), digest: testDigest }
    const { clock } = environment
    const store = await openStore('sqlite::memory:', { config, environment })
    const scene = new Scene(store, config, clock, { digest: testDigest })
    for (const [n, amount] of credits.entries())
      await scene.write({ kind: 'putClient', name: `c${n}`, credits: amount })
    await scene.worker('w', 1)

    const hour = requests()
    const lastMs = (hour.at(-1)?.afterMs ?? 0) + 1
    const total = hour.reduce((sum, { tokens }) => sum + tokens, 0)
    const msPerToken = (load * lastMs) / total
    const queued = credits.map(() => 0)
    const served = credits.map(() => 0)
    let stretch: { readonly n: number; readonly cost: number }[] = []
    const close = () => {
      if (stretch.length >= stretchStarts)
        for (const { n, cost } of stretch) served[n] = (served[n] ?? 0) + cost
      stretch = []
    }
    let running: { readonly claim: Claim; readonly endsAt: number } | undefined
    let heard = 0
    const hear = async () => {
      await scene.idle()
      const claim = scene.claims[heard]
      if (claim === undefined) return
      heard += 1
      const { client, cost } = JSON.parse(claim.submission) as { client: string; cost: number }
      const n = Number(client.slice(1))
      if (queued.every((depth) => depth > 0)) stretch.push({ n, cost })
      else close()
      queued[n] = (queued[n] ?? 0) - 1
      running = { claim, endsAt: clock.now() + cost * msPerToken }
    }
    const workUntil = async (at: number) => {
      while (running !== undefined && running.endsAt <= at) {
        const { claim, endsAt } = running
        running = undefined
        clock.advanceTo(endsAt)
        await scene.settle(claim)
        scene.free('w')
        await hear()
      }
      clock.advanceTo(at)
    }
    const began = clock.now()
    for (let round = 0; round < rounds; round += 1)
      for (const [i, { afterMs, tokens }] of hour.entries()) {
        await workUntil(Math.max(clock.now(), began + round * lastMs + afterMs))
        const n = (round * hour.length + i) % credits.length
        queued[n] = (queued[n] ?? 0) + 1
        await scene.accepted({ client: `c${n}`, cost: tokens })
        await hear()
      }
    await store.close()
    close()

    const sum = served.reduce((a, b) => a + b, 0)
    const errors = served.map((part, n) => part / sum / ((credits[n] ?? 0) / 8_000) - 1)
    console.log(
      `of ${sum} tokens in ${rounds} rounds, by client off its due: ${errors.map((error) => `${(100 * error).toFixed(2)} %`).join(', ')}`,
    )
    expect(sum).toBeGreaterThan((total * rounds) / 4)
    // Of what is due to each one, not of all service.
    for (const error of errors) expect(Math.abs(error)).toBeLessThanOrEqual(0.02)
  },
)
