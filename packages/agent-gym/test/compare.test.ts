import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { compareCommand } from '../src/cli/compare-command.ts'
import { compareReports } from '../src/compare/compare.ts'
import type { ScenarioReport } from '../src/report/report.ts'
import { report, scenarioReport } from './report-builders.ts'

const run = (change: {
  rate?: number
  resume?: number
  lost?: number
  pass?: boolean
  id?: string
  completed?: number
}) => {
  const base = scenarioReport()
  const { kpis } = base
  const scenario: ScenarioReport = {
    ...base,
    id: change.id ?? 'one',
    pass: change.pass ?? true,
    kpis: {
      ...kpis,
      tasks: { ...kpis.tasks, lost: change.lost ?? 0 },
    },
    expectations: [
      ...base.expectations,
      expectation('throughputPerSec', 'at least 100 tasks/s', 'tasks/s', change.rate ?? 1000),
      expectation('resumeMs.p95', 'below 1000 ms', 'ms', change.resume ?? 400),
      expectation('completed', '10', '', change.completed ?? 10),
    ],
  }
  return report([scenario])
}
const expectation = (measure: string, expected: string, unit: string, value: number) => ({
  measure,
  expected,
  measured: value,
  unit,
  samples: 1,
  pass: true,
})
const verdicts = (a: Parameters<typeof compareReports>[0], b: Parameters<typeof compareReports>[1]) =>
  Object.fromEntries(compareReports(a, b).changes.map(({ figure, verdict }) => [figure, verdict]))

describe('a comparison', () => {
  it('a comparison of a run with itself shows no regression', () => {
    const { changes, regressed } = compareReports([run({})], [run({})])
    expect(regressed).toBe(false)
    expect(changes.every(({ verdict }) => verdict === 'same')).toBe(true)
  })

  it('finds what is worse beyond noise, and lets noise pass', () => {
    expect(verdicts([run({ rate: 1000 })], [run({ rate: 790 })])).toMatchObject({ throughputPerSec: 'worse' })
    expect(verdicts([run({ rate: 1000 })], [run({ rate: 810 })])).toMatchObject({ throughputPerSec: 'same' })
    expect(verdicts([run({ rate: 1000 })], [run({ rate: 1300 })])).toMatchObject({
      throughputPerSec: 'better',
    })
    expect(verdicts([run({ resume: 400 })], [run({ resume: 561 })])).toMatchObject({
      'resumeMs.p95': 'worse',
    })
    // Below the absolute floor of 25 ms a doubling says nothing.
    expect(verdicts([run({ resume: 20 })], [run({ resume: 40 })])).toMatchObject({ 'resumeMs.p95': 'same' })
  })

  it('takes medians, and more noise where the runs of A lie apart', () => {
    const steady = [run({ rate: 1000 }), run({ rate: 1000 }), run({ rate: 1000 })]
    const shaky = [run({ rate: 800 }), run({ rate: 1000 }), run({ rate: 1200 })]
    const slower = [run({ rate: 700 }), run({ rate: 700 }), run({ rate: 5000 })]
    expect(verdicts(steady, slower)).toMatchObject({ throughputPerSec: 'worse' })
    expect(verdicts(shaky, slower)).toMatchObject({ throughputPerSec: 'same' })
  })

  it('compares of its expectations those with a bound on one side', () => {
    expect(verdicts([run({ completed: 10 })], [run({ completed: 9 })])).not.toHaveProperty('completed')
  })

  it('has no noise in what must not happen at all', () => {
    expect(verdicts([run({})], [run({ lost: 1 })])).toMatchObject({ lost: 'worse' })
    expect(verdicts([run({})], [run({ pass: false })])).toMatchObject({ passed: 'worse' })
    // One of several runs is enough.
    expect(verdicts([run({})], [run({}), run({}), run({ lost: 1 })])).toMatchObject({ lost: 'worse' })
  })

  it('counts a scenario that is gone as a regression, a new one not', () => {
    expect(compareReports([run({}), run({ id: 'two' })], [run({})]).regressed).toBe(true)
    expect(compareReports([run({})], [run({}), run({ id: 'two' })]).regressed).toBe(false)
  })

  it('warns where the sides are not alike', () => {
    const other = { ...run({}), seed: 2 }
    expect(compareReports([run({})], [other]).warnings).toEqual(['different seeds: A 1; B 2'])
  })
})

describe('gym:compare', () => {
  const compare = (...args: string[]) => {
    const said = { out: '', err: '' }
    const code = compareCommand(args, {}, '/', {
      out: { write: (text) => (said.out += text) },
      err: { write: (text) => (said.err += text) },
    })
    return { code, ...said }
  }
  const files = (...reports: readonly object[]) => {
    const folder = mkdtempSync(join(tmpdir(), 'gym-compare-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    return reports.map((data, i) => {
      const file = join(folder, `${i}.json`)
      writeFileSync(file, JSON.stringify(data))
      return file
    })
  }

  it('prints what changed and fails on a regression', () => {
    const [a = '', b = ''] = files(run({ rate: 1000 }), run({ rate: 500 }))
    expect(compare(a, b)).toMatchObject({
      code: 1,
      out: expect.stringMatching(
        /one +throughputPerSec +1 000 tasks\/s +500 tasks\/s +-500 \(-50 %\) +± 200 +worse/,
      ),
    })
    expect(compare(b, a)).toMatchObject({ code: 0, out: expect.stringContaining('better') })
    expect(compare(a, `${a},${b},${b}`).code).toBe(1)
    expect(compare(a, a).out).toContain('No regression')
  })

  it('refuses what is no report', () => {
    const [a = '', b = ''] = files(run({}), { schemaVersion: 9 })
    expect(compare(a, b)).toMatchObject({ code: 2, err: expect.stringContaining('schema version 9') })
    expect(compare(a, '/nowhere.json')).toMatchObject({
      code: 2,
      err: expect.stringContaining('no such file'),
    })
    expect(compare(a)).toMatchObject({ code: 2 })
  })
})
