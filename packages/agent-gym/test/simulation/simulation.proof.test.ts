import { describe, expect, onTestFinished, test } from 'vitest'
import { counted } from '../../src/simulation/findings.ts'
import { addCounts, leastSeeds, minimumPer100, missing, noCounts } from '../../src/simulation/minimums.ts'
import { plants } from '../../src/simulation/plants.ts'
import { runSeeds } from '../../src/simulation/run-seeds.ts'
import { simulate } from '../../src/simulation/simulate.ts'
import { brokenOnce } from './broken-once.ts'

/** A seed takes some 0.3 s of a processor. */
const timeout = 600_000

describe('a simulated life', () => {
  test(
    'I21 is the same again: every line of its trace, whatever was played before it',
    { timeout },
    async () => {
      const seeds = [3, 11, 19, 27]
      const first = new Map<number, string>()
      for (const seed of seeds) first.set(seed, (await simulate(seed)).hash)
      for (const seed of seeds.toReversed()) {
        const again = await simulate(seed, { trace: true })
        expect([seed, again.hash]).toEqual([seed, first.get(seed)])
        expect(again.lines.length).toBeGreaterThan(100)
      }
      expect(new Set(first.values()).size).toBe(seeds.length)
    },
  )

  test('I21 is the same wherever its sources lie: what stacks say is not in it', { timeout }, async () => {
    // The disk is full in it, and steps throw.
    const seed = 2
    const { hash, faults } = await simulate(seed)
    expect(faults).toContain('full disk')
    const { stackTraceLimit } = Error
    onTestFinished(() => {
      Error.stackTraceLimit = stackTraceLimit
    })
    Error.stackTraceLimit = 1
    expect((await simulate(seed)).hash).toBe(hash)
    expect(Error.stackTraceLimit).toBe(1)
  })

  test('keeps every rule, and enough happens in it', { timeout }, async () => {
    const { seeds, broken, counts, modes } = await runSeeds({ first: 10_001, last: 10_000 + leastSeeds }, 2)
    expect(
      broken.flatMap(({ seed, violations }) => violations.map(({ rule, text }) => [seed, rule, text])),
    ).toEqual([])
    expect(seeds).toBe(leastSeeds)
    expect(missing(seeds, counts)).toEqual([])
    expect(Math.min(modes.safety, modes.liveness)).toBeGreaterThan(5)
  })

  test.each(brokenOnce)(
    'keeps every rule with seed $seed, which broke one, or seemed to: $why',
    { timeout },
    async ({ seed, isMeasured = false }) => {
      expect((await simulate(seed, { isPlain: !isMeasured })).violations).toEqual([])
    },
  )
})

test('a life in which no process comes up is a fault, and no proof', { timeout }, async () => {
  const deaf = () => ({ send: () => [], [Symbol.dispose]() {} })
  const { violations } = await simulate(1, { plant: deaf })
  expect(violations.map(({ rule, text }) => [rule, text])).toEqual([
    ['I24', 'no process has come up: nothing was tried'],
  ])
})

describe('a range of seeds in which too little happens', () => {
  test('fails, naming what there was too little of', () => {
    expect(missing(100, noCounts).length).toBe(Object.keys(minimumPer100).length)
    const enough = { ...noCounts, ...minimumPer100 }
    expect(missing(100, enough)).toEqual([])
    expect(missing(100, { ...enough, zombies: 1 })).toEqual([
      'zombies: 1 in 100 seeds, at least 40 are needed',
    ])
    expect(missing(200, addCounts(enough, { ...enough, claims: 0 }))).toEqual([
      'claims: 1200 in 200 seeds, at least 2400 are needed',
    ])
  })

  test('counts claims, expiries, zombies, cancels and waits among it', () => {
    for (const name of ['claims', 'expiries', 'zombies', 'cancels', 'waits'] as const) {
      expect(counted).toContain(name)
      expect(minimumPer100[name]).toBeGreaterThan(0)
    }
  })
})

describe('a planted bug is found within 300 seeds', () => {
  /** The rule that it breaks; another may be broken first. */
  const rules: Readonly<Record<string, string>> = {
    'a settlement without its fence': 'I9',
    'the first memo of a zombie': 'I9',
    'other writes without their fence': 'I9',
    'a heartbeat without its fence': 'I9',
    'a lease that is renewed after its end': 'I9',
    'a sweep that does not look again': 'I3',
    'a memo that is overwritten': 'I6',
    'a memo that is not told of': 'I8',
    'a memo of a task that nobody holds': 'I7',
    'a lease that ends without its task': 'I5',
    'the same workers after a crash': 'I11',
    'a cancel that is lost': 'I18',
    'a submission that is lost': 'I1',
    'an idempotency key that is ignored': 'I17',
    'a timer before its time': 'I20',
    'a timer that fires twice': 'I20',
    'a gap in the events': 'I15',
    'an attempt without an event': 'I16',
    'a task that is resumed twice': 'I4',
    'a token that is used again': 'I10',
    'a queue that is counted wrong': 'I14',
    'a capacity that is ignored': 'I11',
    'a quota that leaks': 'I19',
    'a quota off by one': 'I19',
    'a budget that forgets': 'I19',
    'a client that pays twice': 'I19',
    'a schedule that runs again': 'I2',
    'backpressure off by one': 'I13',
    'lanes that are not strict': 'I12',
    'a worker that is passed over': 'I12',
    'poison that is never found': 'C17',
    'the living taken for dead': 'I9',
    'a claim that nobody hears of': 'I24',
    'a timer that outlives its cancel': 'I23',
    'children that outlive their parents': 'I22',
    "a caller's task that goes back to the queue": '10.1',
    'a swarm with an agent too many': '10.6',
    'use that is halved': '10.6',
    'a circuit that closes early': '10.3',
    'a fork with what came later': '6.3',
    'a judgement that is lost': 'I1',
  }

  test('each has its rule', () => {
    expect(Object.keys(rules)).toEqual(Object.keys(plants))
  })

  test.each(Object.entries(plants))('%s', { timeout }, async (name, plant) => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const { violations } = await simulate(seed, { plant })
      if (violations.some(({ rule }) => rule === rules[name])) return
    }
    expect.fail(`${name} was not found`)
  })
})
