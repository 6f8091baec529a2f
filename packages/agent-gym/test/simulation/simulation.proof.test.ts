import { readFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { counted } from '../../src/simulation/findings.ts'
import { addCounts, leastSeeds, minimumPer100, missing, noCounts } from '../../src/simulation/minimums.ts'
import { plants } from '../../src/simulation/plants.ts'
import { runSeeds } from '../../src/simulation/run-seeds.ts'
import { simulate } from '../../src/simulation/simulate.ts'
import { brokenOnce } from './broken-once.ts'
import { plantedRules } from './planted-rules.ts'

/** The seed that shows each planted bug. */
const keptSeeds = JSON.parse(
  readFileSync(new URL('./planted-seeds.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, number>>

/** A seed takes some 0.3 s of a processor. */
const timeout = 600_000

describe('a simulated life', () => {
  test(
    'I21 is the same again: every line of its trace, whatever was played before it',
    { timeout },
    async () => {
      const seeds = draws([3, 11], [3, 11], [3, 11, 19, 27])
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
    // `pnpm sim` plays others before each landing, as many as show that enough happens.
    const lives = draws(4, 4, leastSeeds)
    const { seeds, broken, counts, modes } = await runSeeds({ first: 10_001, last: 10_000 + lives }, 2)
    expect(
      broken.flatMap(({ seed, violations }) => violations.map(({ rule, text }) => [seed, rule, text])),
    ).toEqual([])
    expect(seeds).toBe(lives)
    expect(missing(seeds, counts)).toEqual([])
    expect(Math.min(modes.safety, modes.liveness)).toBeGreaterThanOrEqual(draws(0, 0, 6))
  })

  // Since its sources have changed, each is another life than it was: a landing plays every fourth.
  test.each(everyNth(brokenOnce, draws(4, 4, 1)))(
    'keeps every rule with seed $seed, which broke one, or seemed to: $why',
    { timeout },
    async ({ seed, isMeasured = false, isStructured = false }) => {
      const era = isStructured ? 'structures' : isMeasured ? 'work' : 'queue'
      expect((await simulate(seed, { era })).violations).toEqual([])
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

/** In a landing the first of each rule, each night all of them. */
const rules = Object.values(plantedRules)
const all = Object.entries(plants)
const firsts = all.filter(([name], at) => rules.indexOf(plantedRules[name] ?? '') === at)
const planted = draws(firsts, firsts, all)

describe('a planted bug breaks its rule in the life that is kept for it', () => {
  test('each has its rule', () => {
    expect(Object.keys(plantedRules)).toEqual(Object.keys(plants))
  })

  test('each rule that a planted bug breaks is among those of a landing', () => {
    expect(new Set(planted.map(([name]) => plantedRules[name]))).toEqual(new Set(Object.values(plantedRules)))
  })

  test.each(planted)('%s', { timeout }, async (name, plant) => {
    const seed = keptSeeds[name] ?? 0
    const rule = plantedRules[name] ?? ''
    const { violations } = await simulate(seed, { plant, until: rule })
    const broken = violations.map((it) => it.rule)
    expect(broken, `seed ${seed} shows it; if its life has changed, run gym:find-planted`).toContain(rule)
  })
})
