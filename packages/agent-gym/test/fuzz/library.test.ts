import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { anyText } from '../../../../tools/any-text.ts'
import { draws } from '../../../../tools/draws.ts'
import { compareCommand } from '../../src/cli/compare-command.ts'
import { UsageError } from '../../src/cli/exit-code.ts'
import {
  compareReports,
  type Comparison,
  describeMeasure,
  evaluate,
  Expectation,
  measure,
  measureNames,
  parseScenario,
  readReport,
  Report,
  Scenario,
} from '../../src/index.ts'
import type { Run } from '../../src/measure/measurements.ts'
import { goodRun } from '../builders.ts'
import { report, scenarioReport } from '../report-builders.ts'

/** Other data by FUZZ_SEED, more of them by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const numRuns = Number(process.env['FUZZ_RUNS'] ?? draws(10, 120, 300))

const folder = mkdtempSync(join(tmpdir(), 'gym-fuzz-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const text = fc.oneof(
  fc.constantFrom('', '__proto__', 'constructor', 'toString', 'one', '\0', '\ud800', 'a\nb'),
  anyText({ maxLength: 20 }),
)
const number = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, 0.1, 1e300, -1e300, Number.MAX_SAFE_INTEGER, 5e-324),
  // Sums of larger ones are no numbers.
  fc.double({ min: -1e300, max: 1e300, noNaN: true }),
  fc.integer({ min: -10, max: 2_000 }),
)
const count = fc.nat(10)

describe('the library of the gym answers any arguments, or says what is wrong (docs/reliability.md 3.7)', () => {
  const benchmarks = join(import.meta.dirname, '../../benchmarks/q4')
  const texts = readdirSync(benchmarks)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readFileSync(join(benchmarks, name), 'utf8'))

  /** A value somewhere in a JSON text becomes another one, or goes; or there is one more. */
  const spoiled = fc
    .tuple(
      fc.constantFrom(...texts),
      fc.array(
        fc.tuple(
          fc.nat(400),
          fc.constantFrom('change' as const, 'add' as const, 'drop' as const),
          fc.jsonValue({ maxDepth: 2 }),
        ),
        { maxLength: 2 },
      ),
    )
    .map(([whole, edits]) => {
      const data = JSON.parse(whole) as unknown
      for (const [at, how, value] of edits) edit(data, at, how, value)
      return JSON.stringify(data)
    })

  test('a scenario is read as what it is, or refused by a line that names it', () => {
    const told = { read: 0, refused: 0 }
    fc.assert(
      fc.property(spoiled, (content) => {
        try {
          const scenario = parseScenario(content, 'here.json')
          // What was read says the same again.
          expect(Scenario.parse(scenario)).toEqual(scenario)
          told.read += 1
        } catch (error) {
          assert.ok(error instanceof UsageError, error as Error)
          assert.match(error.message, /^here\.json: \S/)
          told.refused += 1
        }
      }),
      { seed, numRuns },
    )
    expect(Math.min(told.read, told.refused)).toBeGreaterThan(numRuns / 20)
  })

  const about = fc.record(
    {
      lane: fc.constantFrom('interactive', 'normal', 'batch'),
      group: fc.oneof(fc.constant('files'), text),
      process: fc.oneof(fc.constant('main'), text),
      depth: count,
      model: text,
      client: text,
      of: text,
      call: text,
      samples: fc.integer({ min: 1, max: 5 }),
    },
    { requiredKeys: [] },
  )
  const bound = fc.oneof(
    fc
      .tuple(fc.constantFrom('atMost', 'atLeast', 'below', 'above'), number)
      .map(([name, value]) => ({ [name]: value })),
    fc.oneof(number, text, fc.boolean()).map((equals) => ({ equals })),
    fc
      .tuple(number, fc.double({ min: 1e-300, max: 1e300, noNaN: true }))
      .map(([atLeast, atSqliteRate]) => ({ atLeast, atSqliteRate })),
  )
  const expectation = fc
    .tuple(fc.constantFrom(...measureNames), about, bound)
    .map(([name, ...more]) => Expectation.safeParse(Object.assign({ measure: name }, ...more)).data)
    .filter((it) => it !== undefined)
  /** Runs in which this or that is missing, twice there, out of order, or never happened. */
  const run = fc
    .tuple(
      count,
      fc.array(
        fc.tuple(fc.nat(400), fc.nat(400), fc.constantFrom('drop', 'twice', 'first', 'never' as const)),
        { maxLength: 5 },
      ),
      fc.option(fc.double({ min: 0, max: 1e6, noNaN: true })),
    )
    .map(([tasks, edits, sqliteRate]) => {
      const whole: Run = { ...structuredClone(goodRun(tasks)), sqliteRate }
      for (const [which, at, how] of edits) {
        const lists = listsIn(whole)
        const list = lists[which % lists.length] ?? []
        const index = at % Math.max(1, list.length)
        const [taken] = list.splice(index, 1)
        if (taken === undefined || how === 'drop') continue
        if (how === 'first') list.unshift(taken)
        else if (how === 'never') list.splice(index, 0, neverHappened(taken))
        else list.splice(index, 0, taken, structuredClone(taken))
      }
      return whole
    })
  const Finding = Report.shape.scenarios.element.shape.expectations.element

  test('every expectation gets one finding, which a report can hold, and which says what its figures say', () => {
    const told = { met: 0, not: 0 }
    fc.assert(
      fc.property(
        fc.array(expectation, { minLength: 1, maxLength: 8 }),
        fc.array(run, { minLength: 1, maxLength: 3 }),
        (expectations, runs) => {
          const findings = evaluate(expectations, { runs })
          expect(findings).toHaveLength(expectations.length)
          for (const [index, finding] of findings.entries()) {
            const asked = expectations[index] as Expectation
            expect(Finding.parse(JSON.parse(JSON.stringify(finding)))).toEqual(
              JSON.parse(JSON.stringify(finding)),
            )
            told[finding.pass ? 'met' : 'not'] += 1
            assert.ok(asked.atSqliteRate !== undefined || finding.pass === isMet(asked, finding))
          }
        },
      ),
      { seed, numRuns },
    )
    expect(Math.min(told.met, told.not)).toBeGreaterThan(numRuns / 10)
  })

  test('an unknown measure is reported by its name', () => {
    fc.assert(
      fc.property(text, (name) => {
        if (measureNames.includes(name)) return
        expect(describeMeasure(name)).toBe('')
        expect(() => measure(name, { runs: [goodRun()] })).toThrow(`no measure is named ${name}`)
      }),
      { seed, numRuns },
    )
  })

  const finding = fc.record({
    measure: fc.oneof(fc.constantFrom('throughputPerSec', 'lost'), text),
    expected: fc.oneof(fc.constantFrom('at least 1', 'below 5 ms', 'at most 0', '0'), text),
    measured: fc.oneof(number, number, text, fc.boolean(), fc.constant(null)),
    unit: fc.oneof(fc.constantFrom('', 'ms', 'tasks/s'), text),
    samples: count,
    pass: fc.boolean(),
  })
  const scenario = fc
    .record({
      id: fc.oneof(fc.constantFrom('one', 'two'), text),
      pass: fc.boolean(),
      expectations: fc.array(finding, { maxLength: 3 }),
      lost: count,
      repeated: count,
      leaks: count,
      stable: fc.constantFrom(true, false, null),
      latency: fc.option(number),
    })
    .map(({ id, pass, expectations, lost, repeated, leaks, stable, latency }) => {
      const { kpis } = scenarioReport()
      const spread =
        latency === null ? null : { min: 0, p50: 0, p99: 0, max: 0, mean: 0, count: 1, p95: latency }
      return scenarioReport({
        id,
        pass,
        expectations,
        kpis: {
          ...kpis,
          tasks: { ...kpis.tasks, lost },
          duplicateEffects: repeated,
          leaks,
          orderHashStable: stable,
          schedulerLatencyMs: spread,
        },
      })
    })
  const side = fc.array(
    fc.array(scenario, { maxLength: 3 }).map((scenarios) => report(scenarios)),
    { minLength: 1, maxLength: 3 },
  )

  test('two sides are compared: figures are numbers, one side is as it is, and what is worse is a regression', () => {
    const verdicts = new Set<string>()
    fc.assert(
      fc.property(side, side, (a, b) => {
        const { changes, regressed } = compareReports(a, b)
        for (const { before, after, allowed, verdict } of changes) {
          for (const figure of [before, after]) assert.ok(figure === null || Number.isFinite(figure))
          assert.ok(Number.isFinite(allowed) && allowed >= 0, String(allowed))
          verdicts.add(verdict)
        }
        expect(regressed).toBe(changes.some(({ verdict }) => verdict === 'worse' || verdict === 'gone'))
        const same = compareReports(a, a)
        expect(same.changes.filter(({ verdict }) => verdict !== 'same')).toEqual([])
        expect([same.regressed, same.warnings]).toEqual([false, []])
      }),
      { seed, numRuns },
    )
    expect([...verdicts].toSorted()).toEqual(['better', 'gone', 'new', 'same', 'worse'])
  })

  test('a report that was written is read as it was, and its comparison is shown', () => {
    const out: string[] = []
    const console = { out: { write: (it: string) => out.push(it) > 0 }, err: { write: () => true } }
    fc.assert(
      fc.property(side, fc.subarray(['--all', '--json']), ([one = report()], flags) => {
        const file = join(folder, 'report.json')
        writeFileSync(file, JSON.stringify(one))
        expect(readReport(file)).toEqual(JSON.parse(JSON.stringify(one)))
        out.length = 0
        expect(compareCommand([file, file, ...flags], {}, folder, console)).toBe(0)
        const shown = out.join('')
        assert.ok(
          flags.includes('--json')
            ? !(JSON.parse(shown) as Comparison).regressed
            : shown.includes('No regression'),
        )
      }),
      { seed, numRuns: Math.ceil(numRuns / 3) },
    )
  })
})

/** Whether the bound holds of the figures that a finding tells. */
function isMet(
  { equals, atMost, atLeast, below, above, samples: fewest = 1 }: Expectation,
  { measured, samples }: { readonly measured: unknown; readonly samples: number },
): boolean {
  if (measured === null || samples < fewest) return false
  if (equals !== undefined) return measured === equals
  if (typeof measured !== 'number') return false
  return (
    measured <= (atMost ?? Infinity) &&
    measured >= (atLeast ?? -Infinity) &&
    (below === undefined || measured < below) &&
    (above === undefined || measured > above)
  )
}

/** All lists in a value, its own ones first. */
function listsIn(value: object): unknown[][] {
  const parts = Object.values(value).filter((part) => typeof part === 'object' && part !== null) as object[]
  const inner = parts.flatMap(listsIn)
  return Array.isArray(value) ? [value, ...inner] : inner
}

/** What may be null of it is. */
function neverHappened(it: unknown): unknown {
  if (typeof it !== 'object' || it === null) return it
  const open = new Set([
    'startedAt',
    'finishedAt',
    'leftAt',
    'how',
    'endedAt',
    'exitCode',
    'openedAt',
    'n',
    'orderHash',
  ])
  return Object.fromEntries(
    Object.entries(it).map(([key, value]) => [
      key,
      open.has(key) && (key !== 'n' || 'sequence' in it) ? null : value,
    ]),
  )
}

/** Changes one of all the values in a JSON value, counted through. */
function edit(data: unknown, at: number, how: 'change' | 'add' | 'drop', value: unknown): void {
  const places: [holder: Record<string, unknown>, key: string][] = []
  const visit = (it: unknown) => {
    if (typeof it !== 'object' || it === null) return
    for (const key of Object.keys(it)) {
      places.push([it as Record<string, unknown>, key])
      visit((it as Record<string, unknown>)[key])
    }
  }
  visit(data)
  const [holder, key] = places[at % Math.max(1, places.length)] ?? []
  if (holder === undefined || key === undefined) return
  if (how === 'change') holder[key] = value
  else if (how === 'drop') Reflect.deleteProperty(holder, key)
  else holder[`${key}x`] = value
}
