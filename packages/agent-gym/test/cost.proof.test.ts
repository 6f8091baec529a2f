import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { costOf } from '../src/bench/pairs.ts'
import { partitionCost } from '../src/bench/partition-cost.ts'
import { shareCost } from '../src/bench/share-cost.ts'
import { supervisionCost } from '../src/bench/supervision-cost.ts'
import { stepCost } from '../src/bench/step-cost.ts'
import { telemetryCost } from '../src/bench/telemetry-cost.ts'
import { exitCode } from '../src/cli/exit-code.ts'
import { streamCommand } from '../src/cli/stream-command.ts'
import { costCommand } from '../src/cli/cost-command.ts'

const leastShare = 0.98
const pairs = (...rates: [on: number, off: number][]) =>
  rates.map(([on, off]) => ({ on: { perSec: on, cpuMs: 1 }, off: { perSec: off, cpuMs: 1 } }))

describe('the cost of telemetry', () => {
  it('is the median of the pairs, so that one disturbed drain changes nothing', () => {
    expect(costOf(pairs([99, 100], [98, 100], [10, 100], [100, 100], [99, 100]), leastShare)).toMatchObject({
      rate: { median: 0.99, low: 0.1, high: 1 },
      met: true,
    })
  })

  it('is too much below the bound', () => {
    const on = 1000 * leastShare
    expect(costOf(pairs([on, 1000]), leastShare).met).toBe(true)
    expect(costOf(pairs([on - 1, 1000]), leastShare).met).toBe(false)
  })

  it('is too much above the bound of processor time', () => {
    const twice = [1, 2].map(() => ({ on: { perSec: 1, cpuMs: 2 }, off: { perSec: 1, cpuMs: 1 } }))
    expect([costOf(twice, 1, 2).met, costOf(twice, 1, 1.9).met]).toEqual([true, false])
  })

  it('lies, of many pairs, between two of them near the middle', () => {
    const many = Array.from({ length: 100 }, (_, i): [number, number] => [1000 + i, 1000])
    expect(costOf(pairs(...many), leastShare).rate).toEqual({ median: 1.05, low: 1.039, high: 1.06 })
  })
})

describe.each([
  [telemetryCost, '--tasks', /2 pairs of drains of 300 tasks/, '0.98'],
  [shareCost, '--tasks', /2 pairs of drains of 400 tasks, of 400 clients divided by those of one/, '0.4'],
  [stepCost, '--steps', /2 pairs of runs of 400 steps in 20 tasks/, '0.8'],
  [
    partitionCost,
    '--events',
    /2 pairs of pipelines of 400 events, through 4 partitions divided by through one task/,
    '0.7',
  ],
  [
    supervisionCost,
    '--children',
    /2 pairs of runs of 400 children that fail 3 times each, under one supervisor divided by under 10/,
    '0.25',
  ],
] as const)('the command $command', (bench, flag, what, least) => {
  const run = async (args: string[], signal = new AbortController().signal) => {
    const said = { out: '', err: '' }
    const stream = (name: 'out' | 'err') => ({ write: (text: string) => (said[name] += text) })
    const code = await costCommand(bench, args, { out: stream('out'), err: stream('err') }, signal)
    return { code, ...said }
  }

  it('runs in pairs, says what it saw, and leaves nothing behind', async () => {
    const { code, out, err } = await run(['--pairs', '2', flag, '400'])
    expect(err).toBe('')
    expect(out).toMatch(what)
    expect(out).toMatch(/rate +\d\.\d+ \(\d\.\d+ to \d\.\d+\), at least \d/)
    expect(out).toContain(`at least ${least}: `)
    expect(out).toMatch(/processor time +\d\.\d+ /)
    const medians = /medians +\d+ restarts a second under one supervisor, \d+ under 10/
    expect(medians.test(out)).toBe(bench === supervisionCost)
    expect(code).toBe(out.includes('not met') ? exitCode.failed : exitCode.ok)
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith(`gym-cost-${process.pid}-`))).toEqual([])
  })

  it('is 2 for a wrong command line', async () => {
    expect(await run(['--pairs', '0'])).toMatchObject({
      code: exitCode.usage,
      err: expect.stringContaining('a number of pairs is a whole number from 1'),
    })
  })
})

describe('the command gym:stream-bars', () => {
  const run = async (...more: readonly string[]) => {
    let out = ''
    const console = {
      out: { write: (text: string) => (out += text) },
      err: { write: (text: string) => text },
    }
    const args = ['--events', '500', '--rounds', '1', ...more]
    const code = await streamCommand(args, console, new AbortController().signal)
    expect(code).toBe(out.includes('not met') ? exitCode.failed : exitCode.ok)
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith(`gym-streams-${process.pid}-`))).toEqual([])
    return out.trim().split('\n')
  }
  const figures = [
    /\d+ events a second, at least 5000/,
    /\d+ MB with a fifth of the events, \d+ MB with all, at most 1.25 times as much/,
    /a stage that held its slot had the first event after \d+\.\d ms, at most 20/,
    /a stage that waited without a slot had the first event after \d+\.\d ms, at most 20/,
  ]

  it('says what it measured of a stream, and which bars were met', async () => {
    const expected = figures.map(({ source }): unknown =>
      expect.stringMatching(new RegExp(`^${source}: (not )?met$`)),
    )
    expect(await run()).toEqual(expected)
  })

  it('prints a page of evidence that says how it was made', async () => {
    const page = await run('--evidence')
    expect(page[0]).toBe('# Evidence: pipelines')
    expect(page).toContain(
      '| command | `pnpm --filter @ku0/agent-gym gym:stream-bars --events 500 --rounds 1 --evidence` |',
    )
    const expected = figures.map(({ source }): unknown =>
      expect.stringMatching(new RegExp(`^\\| ${source} \\| (not )?met \\|$`)),
    )
    expect(page.slice(-figures.length)).toEqual(expected)
  })
})
