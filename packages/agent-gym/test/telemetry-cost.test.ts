import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { costOf, leastShare } from '../src/bench/telemetry-cost.ts'
import { exitCode } from '../src/cli/exit-code.ts'
import { telemetryCostCommand } from '../src/cli/telemetry-cost-command.ts'

const pairs = (...rates: [on: number, off: number][]) =>
  rates.map(([on, off]) => ({ on: { perSec: on, cpuMs: 1 }, off: { perSec: off, cpuMs: 1 } }))

describe('what telemetry costs', () => {
  it('is the median of the pairs, so that one disturbed drain changes nothing', () => {
    expect(costOf(pairs([99, 100], [98, 100], [10, 100], [100, 100], [99, 100]))).toMatchObject({
      rate: { median: 0.99, low: 0.1, high: 1 },
      met: true,
    })
  })

  it('is too much below the bound', () => {
    const on = 1000 * leastShare
    expect(costOf(pairs([on, 1000])).met).toBe(true)
    expect(costOf(pairs([on - 1, 1000])).met).toBe(false)
  })

  it('lies, of many pairs, between two of them near the middle', () => {
    const many = Array.from({ length: 100 }, (_, i): [number, number] => [1000 + i, 1000])
    expect(costOf(pairs(...many)).rate).toEqual({ median: 1.05, low: 1.039, high: 1.06 })
  })
})

describe('the command', () => {
  const run = async (args: string[], signal = new AbortController().signal) => {
    const said = { out: '', err: '' }
    const stream = (name: 'out' | 'err') => ({ write: (text: string) => (said[name] += text) })
    const code = await telemetryCostCommand(args, { out: stream('out'), err: stream('err') }, signal)
    return { code, ...said }
  }

  it('drains in pairs, says what it saw, and leaves nothing behind', async () => {
    const { code, out, err } = await run(['--pairs', '2', '--tasks', '300'])
    expect(err).toBe('')
    expect(out).toMatch(/2 pairs of drains of 300 tasks/)
    expect(out).toMatch(/rate +\d\.\d+ \(\d\.\d+ to \d\.\d+\), at least 0\.98: (met|not met)\n/)
    expect(out).toMatch(/processor time +\d\.\d+ /)
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
