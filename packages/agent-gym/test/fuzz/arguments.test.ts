import assert from 'node:assert/strict'
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { anyText } from '../../../../tools/any-text.ts'
import { draws } from '../../../../tools/draws.ts'
import type { Bench } from '../../src/bench/bench.ts'
import { partitionCost } from '../../src/bench/partition-cost.ts'
import { supervisionCost } from '../../src/bench/supervision-cost.ts'
import { shareCost } from '../../src/bench/share-cost.ts'
import { stepCost } from '../../src/bench/step-cost.ts'
import { telemetryCost } from '../../src/bench/telemetry-cost.ts'
import { UsageError } from '../../src/cli/exit-code.ts'
import { compareCommand } from '../../src/cli/compare-command.ts'
import { costCommand } from '../../src/cli/cost-command.ts'
import { killsCommand } from '../../src/cli/kills-command.ts'
import { promisesCommand } from '../../src/cli/promises-command.ts'
import { racesCommand } from '../../src/cli/races-command.ts'
import { Interrupted } from '../../src/cli/run-command.ts'
import { readRunOptions, HelpShown } from '../../src/cli/run-options.ts'
import { simCommand } from '../../src/cli/sim-command.ts'
import { retentionCommand } from '../../src/cli/retention-command.ts'
import { streamCommand } from '../../src/cli/stream-command.ts'
import { soakCommand } from '../../src/cli/soak-command.ts'
import { readReport } from '../../src/report/read-report.ts'
import { loadScenarios } from '../../src/scenario/load.ts'
import { readTrace } from '../../src/work/trace.ts'

/** Other arguments and files by FUZZ_SEED, more of them by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const numRuns = Number(process.env['FUZZ_RUNS'] ?? draws(10, 60, 150))

const folder = mkdtempSync(join(tmpdir(), 'gym-fuzz-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const odd = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '-1',
    '0.5',
    'NaN',
    '1e999',
    '0x10',
    '\0',
    '\ud800',
    '..',
    '5..1',
    '1..',
    '__proto__',
    'constructor',
    'toString',
    'x'.repeat(10_000),
  ),
  anyText(),
)

const flags = [
  '--kills',
  '--submissions',
  '--seed',
  '--seeds',
  '--threads',
  '--plant',
  '--minutes',
  '--tasks',
  '--kept',
  '--samples',
  '--cancels',
  '--stops',
  '--histories',
  '--restarts',
  '--in-flight',
  '--ttl',
  '--node',
  '--evidence',
  '--pairs',
  '--steps',
  '--trace',
  '--plain',
  '--nope',
  '--seed=',
  '--',
]

/** A command answers, by its code, and a line for people where it is told what is wrong. */
async function answers(
  command: (args: readonly string[]) => Promise<number> | number,
  said: { err: string },
  args: readonly string[],
): Promise<number> {
  said.err = ''
  const code = await command(args)
  assert.ok([0, 1, 2, 130].includes(code), String(code))
  if (code === 2) assert.match(said.err, /\S/)
  assert.doesNotMatch(said.err, /\n\s+at |TypeError|is not a function|Cannot read/)
  return code
}

const text = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../benchmarks/q4/one-key.json'), 'utf8'),
) as Record<string, unknown>

/** A file that is read either as what it is, or refused by a line that names it. */
function isReadOrRefused(file: string, read: () => unknown): 'read' | 'refused' {
  try {
    read()
    return 'read'
  } catch (error) {
    assert.ok(error instanceof UsageError, error as Error)
    assert.ok(error.message.includes(file), error.message)
    return 'refused'
  }
}

describe('the gym says what is wrong with any arguments (docs/reliability.md 3.7)', () => {
  const said = { err: '' }
  const console = { out: { write: () => true }, err: { write: (it: string) => ((said.err += it), true) } }
  // Whatever is right ends before it has begun.
  const stop = AbortSignal.abort(new Interrupted())
  const cost = (bench: Bench) => (args: readonly string[]) => costCommand(bench, args, console, stop)
  const commands = {
    'gym:kills': (args: readonly string[]) => killsCommand(args, console, stop),
    sim: (args: readonly string[]) => simCommand(args, console, stop),
    'gym:soak': (args: readonly string[]) => soakCommand(args, console, stop),
    'gym:retention': (args: readonly string[]) => retentionCommand(args, {}, console, stop),
    'gym:races': (args: readonly string[]) => racesCommand(args, console, stop),
    'gym:promises': (args: readonly string[]) => promisesCommand(args, console, stop),
    'gym:telemetry-cost': cost(telemetryCost),
    'gym:step-cost': cost(stepCost),
    'gym:share-cost': cost(shareCost),
    'gym:partition-cost': cost(partitionCost),
    'gym:supervision-cost': cost(supervisionCost),
    'gym:stream-bars': (args: readonly string[]) => streamCommand(args, console, stop),
    'gym:compare': (args: readonly string[]) => compareCommand(args, {}, folder, console),
  }

  test.each(Object.entries(commands))(
    '%s refuses a wrong command line',
    { timeout: 120_000 },
    async (_, command) => {
      const pair = fc.tuple(fc.constantFrom(...flags), odd)
      const wrong = fc.array(pair, { minLength: 1, maxLength: 2 }).map((pairs) => pairs.flat())
      const codes: number[] = []
      await fc.assert(
        fc.asyncProperty(wrong, async (args) => {
          codes.push(await answers(command, said, args))
        }),
        { seed, numRuns },
      )
      expect(codes.filter((code) => code === 2).length).toBeGreaterThan(numRuns / 2)
    },
  )

  test.each([
    'gym:kills',
    // This one takes as long as all others.
    ...draws<readonly 'gym:races'[]>([], ['gym:races']),
    'gym:promises',
    'gym:soak',
    'gym:retention',
    'gym:telemetry-cost',
    'gym:step-cost',
    'gym:share-cost',
    'gym:partition-cost',
    'gym:supervision-cost',
    'gym:stream-bars',
  ] as const)('%s says that it was interrupted', async (name) => {
    expect(await answers(commands[name], said, [])).toBe(130)
    expect(said.err).toContain('Interrupted')
  })

  test('a cost is measured as often as it should be, or not at all', { timeout: 120_000 }, async () => {
    const counts: number[] = []
    const bench: Bench = {
      command: 'gym:turn-cost',
      description: 'What a turn costs.',
      what: (turns) => `runs of ${turns} turns`,
      unit: 'turns',
      count: 3,
      pairs: 2,
      leastShare: 0.5,
      run: async (on, _, count) => {
        counts.push(count)
        return { perSec: on ? 3 : 4, cpuMs: 1 }
      },
    }
    const argument = fc.tuple(
      fc.constantFrom('--pairs', '--turns', '--turns', '--nope', '--'),
      fc.oneof(odd, fc.integer({ min: -1, max: 9 }).map(String)),
    )
    const told = { run: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(argument, { maxLength: 2 }), async (pairs) => {
        counts.length = 0
        const run = (args: readonly string[]) =>
          costCommand(bench, args, console, new AbortController().signal)
        const code = await answers(run, said, pairs.flat())
        const last = (flag: string, otherwise: number) =>
          Number(pairs.findLast(([name]) => name === flag)?.[1] ?? otherwise)
        const expected =
          code === 2 ? [] : Array.from({ length: 4 + 2 * last('--pairs', 2) }, () => last('--turns', 3))
        expect([pairs, counts]).toEqual([pairs, expected])
        told[code === 2 ? 'refused' : 'run'] += 1
      }),
      { seed, numRuns },
    )
    expect(Math.min(told.run, told.refused)).toBeGreaterThan(numRuns / 20)
  })

  test('gym:run reads its command line, or refuses it', () => {
    const flag = fc.constantFrom(
      '--suite',
      '--category',
      '--benchmarks',
      '--report',
      '--baseline',
      '--min-score',
      '--json',
      '--only',
      '--seed',
      '--store',
      '--trace',
      '--speedup',
      '--processes',
      '--nope',
    )
    const value = fc.oneof(
      odd,
      fc.constantFrom('easy', 'all', 'sqlite', 'postgres', '1', folder, '/dev/null'),
    )
    const told = { read: 0, refused: 0 }
    fc.assert(
      fc.property(fc.array(fc.tuple(flag, value), { maxLength: 4 }), (pairs) => {
        try {
          const { seed: drawn, suite } = readRunOptions(pairs.flat(), {}, folder)
          expect([Number.isInteger(drawn), typeof suite]).toEqual([true, 'string'])
          told.read += 1
        } catch (error) {
          assert.ok(error instanceof UsageError || error instanceof HelpShown, error as Error)
          told.refused += 1
        }
      }),
      { seed, numRuns },
    )
    expect(Math.min(told.read, told.refused)).toBeGreaterThan(0)
  })

  const json = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
    fc
      .tuple(fc.constantFrom(...Object.keys(text)), fc.jsonValue({ maxDepth: 2 }))
      .map(([key, value]) => JSON.stringify({ ...text, [key]: value })),
    fc.tuple(fc.nat(400), fc.string()).map(([at, piece]) => {
      const whole = JSON.stringify(text)
      return whole.slice(0, at) + piece + whole.slice(at)
    }),
    anyText(),
  )

  test('files of benchmarks and reports, and traces', () => {
    const told = { read: 0, refused: 0 }
    const benchmarks = join(folder, 'benchmarks')
    mkdirSync(benchmarks, { recursive: true })
    const csv = fc.oneof(
      fc
        .array(fc.tuple(odd, odd, odd), { maxLength: 3 })
        .map((rows) =>
          ['TIMESTAMP,ContextTokens,GeneratedTokens', ...rows.map((row) => row.join(','))].join('\n'),
        ),
      anyText(),
    )
    fc.assert(
      fc.property(json, csv, (content, trace) => {
        const files = {
          scenario: join(benchmarks, 'it.json'),
          report: join(folder, 'report.json'),
          trace: join(folder, 'trace.csv'),
        }
        writeFileSync(files.scenario, content)
        writeFileSync(files.report, content)
        writeFileSync(files.trace, trace)
        told[isReadOrRefused(files.scenario, () => loadScenarios(benchmarks))] += 1
        told[isReadOrRefused(files.report, () => readReport(files.report))] += 1
        told[isReadOrRefused(files.trace, () => readTrace(files.trace))] += 1
      }),
      { seed, numRuns },
    )
    expect(told.refused).toBeGreaterThan(numRuns)
  })
})
