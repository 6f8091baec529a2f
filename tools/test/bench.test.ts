import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { arrivals } from '../bench/arrivals.ts'
import { parseOptions } from '../bench/options.ts'
import { count, renderPage } from '../bench/page.ts'
import { planOf } from '../bench/plan.ts'
import { plotsOf } from '../bench/plot.ts'
import { readRounds } from '../bench/paired/rounds.ts'
import { wholeFolder } from '../bench/paired/whole-folder.ts'
import { systems, type System } from '../bench/registry.ts'
import { summaryOf, type Findings } from '../bench/results.ts'
import type { Said } from '../bench/run/messages.ts'
import { parseStat } from '../bench/run/processes.ts'
import type { Seat } from '../bench/run/seat.ts'
import { beside, wait } from '../bench/run/waiting.ts'
import { verdictsOn } from '../bench/smoke/verdict.ts'
import { ku0 } from '../bench/systems/ku0.ts'
import { median, percentile, summarize } from '../bench/statistics.ts'
import { quick, whole, workloads, type Workload } from '../bench/workloads.ts'

describe('figures of several runs', () => {
  test('have a median and a spread', () => {
    expect(summarize([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3, runs: 3 })
    expect(median([4, 1, 2, 3])).toBe(2.5)
    expect(median([])).toBeNaN()
    expect(percentile([0, 10, 20, 30, 40], 0.95)).toBe(38)
  })
})

describe('the tests that run', () => {
  const nobody = () => Promise.reject(new Error('not opened'))
  const system = (id: string): System => ({
    id,
    name: id,
    kind: 'peer',
    server: 'none',
    settings: '',
    steps: false,
    waits: true,
    load: nobody,
  })
  const workload = (id: string, more: Partial<Workload> = {}): Workload => ({
    id,
    leavesOut: () => undefined,
    run: () => Promise.resolve({}),
    ...more,
  })
  const order = (only: readonly string[], rounds = 1) =>
    planOf([system('a'), system('b')], [workload('drain'), workload('growth', { rounds: 1 })], {
      only,
      rounds,
    }).cases.map((it) => `${it.round} ${it.workload.id} ${it.system.id}`)

  test('are all systems by turns, each round from another one on', () => {
    expect(order([], 2)).toEqual([
      '0 drain a',
      '0 drain b',
      '0 growth a',
      '0 growth b',
      '1 drain b',
      '1 drain a',
    ])
  })

  test('are the systems and workloads that were named', () => {
    expect(order(['b'])).toEqual(['0 drain b', '0 growth b'])
    expect(order(['b', 'dra'])).toEqual(['0 drain b'])
    expect(() => order(['nobody'])).toThrow('--only nobody names no system and no workload')
  })

  test('leaves out what a system cannot do, and says why', () => {
    const { cases, leftOut } = planOf(systems, workloads(whole), { only: ['steps-200x10'], rounds: 1 })
    expect(cases.map((it) => it.system.id)).toContain('dbos')
    expect(leftOut).toContainEqual({
      system: 'bullmq',
      workload: 'steps-200x10',
      reason: 'it has no durable steps',
    })
  })

  test('leaves out of the waits whoever has none, and says what comes nearest', () => {
    const { cases, leftOut } = planOf(systems, workloads(whole), { only: ['waiting-'], rounds: 3 })
    expect(cases.map((it) => it.system.id)).toEqual([
      'ku0',
      'ku0-24',
      'ku0-postgres',
      'dbos',
      'openworkflow-postgres',
      'openworkflow-sqlite',
      'restate',
    ])
    expect(cases[0]?.workload.id).toBe('waiting-100000')
    expect(leftOut).toContainEqual({
      system: 'bullmq',
      workload: 'waiting-100000',
      reason: 'a handler cannot wait for an event; nearest to it, it puts its job back until a time',
    })
  })

  test('has other sizes when it has to be quick, and every system has a name of its own', () => {
    expect(workloads(quick).length).toBeLessThan(workloads(whole).length)
    expect(new Set(systems.map(({ id }) => id)).size).toBe(systems.length)
  })
})

describe('the requests of a replay', () => {
  test('come in the order of a recorded hour, sixty times as fast, and take as long as they took', () => {
    const folder = mkdtempSync(join(tmpdir(), 'trace-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'trace.csv')
    const rows = ['2023-11-16 18:00:00.0,10,50', '2023-11-16 18:00:06.0,10,7', '2023-11-16 18:30:00.0,1,1']
    writeFileSync(file, ['TIMESTAMP,ContextTokens,GeneratedTokens', ...rows].join('\n'))
    expect(arrivals(10, file)).toEqual({
      isRecorded: true,
      requests: [
        { afterMs: 0, lane: 'interactive', ms: 500 },
        { afterMs: 100, lane: 'normal', ms: 70 },
      ],
    })
  })

  test('are drawn where nothing is recorded: the same ones each time, in all lanes', () => {
    const { isRecorded, requests } = arrivals(60, 'nowhere.csv')
    expect(isRecorded).toBe(false)
    expect(requests).toEqual(arrivals(60, 'nowhere.csv').requests)
    expect(requests.every(({ afterMs }, n) => afterMs >= (requests[n - 1]?.afterMs ?? 0))).toBe(true)
    const parts = ['interactive', 'normal', 'batch'].map(
      (lane) => requests.filter((it) => it.lane === lane).length / requests.length,
    )
    for (const [n, part] of [0.3, 0.5, 0.2].entries()) expect(parts[n]).toBeCloseTo(part, 2)
  })
})

describe('the command line', () => {
  test('writes the page of the documentation only when it runs everything', () => {
    expect(parseOptions([])).toMatchObject({ options: { out: 'docs', rounds: 3 } })
    expect(parseOptions(['--', '--quick'])).toMatchObject({
      options: { out: 'tools/bench/.results', rounds: 1 },
    })
    expect(parseOptions(['--only', 'dbos', '--rounds', '5'])).toMatchObject({
      options: { only: ['dbos'], out: 'tools/bench/.results', rounds: 5 },
    })
  })

  test('says what is wrong', () => {
    expect(parseOptions(['--rounds', 'many'])).toEqual({ wrong: '--rounds takes a number above 0, not many' })
    expect(parseOptions(['--nope'])).toHaveProperty('wrong')
    expect(parseOptions(['--help'])).toEqual({ print: 'help' })
  })
})

describe('the page', () => {
  const run = (system: string, round: number, perSecond: number, cut = 0) => ({
    system,
    workload: 'drain-20000',
    round,
    figures: { perSecond, perSecondWorking: perSecond * 2, cpuPer10000: 0.7, peakMiB: 120.4, cut },
  })
  const findings: Findings = {
    command: 'npx -y pnpm@12.21.0 bench',
    day: '2026-11-25',
    minutes: 3,
    machine: { cpu: 'a <processor>', cores: 2, memoryGiB: 24, system: 'Linux 6.1', disk: 'ext4' },
    load: { before: 0.1, between: 0.2 },
    versions: { Node: '26.10.0' },
    systems: [
      { id: 'ku0', name: 'this runtime', settings: 'SQLite', kind: 'own' },
      { id: 'other', name: 'the "other" one', settings: 'PostgreSQL', kind: 'peer' },
    ],
    results: [run('ku0', 0, 10_000), run('ku0', 1, 12_345), run('other', 0, 512.4, 1)],
    leftOut: [{ system: 'other', workload: 'growth', reason: 'it has no call for it' }],
    failed: [{ system: 'other', workload: 'submit', reason: 'no answer' }],
  }

  test('has the median of each figure with its spread, and a mark where the time was over', () => {
    expect(summaryOf(findings, 'ku0', 'drain-20000', 'perSecond')).toEqual(summarize([10_000, 12_345]))
    const page = renderPage(findings, new Set(['drain-20000']))
    expect(page).toContain(
      '| this runtime | 11 200 (10 000–12 300) | 22 300 (20 000–24 700) | 0.70 (0.70–0.70) | 120 MiB (120–120) |',
    )
    expect(page).toContain('| the "other" one ¹ | 512 | 1 020 | 0.70 | 120 MiB |')
    expect(page).toContain('![Drain 20 000 tasks](performance-drain-20000.svg)')
  })

  test('names command, machine and what is missing, and no table without a figure', () => {
    const page = renderPage(findings, new Set())
    expect(page).toContain('2 rounds, on 2 cores (a <processor>)')
    expect(page).toContain('- the "other" one: no answer (submit)')
    expect(page).toContain('- the "other" one: it has no call for it (growth)')
    expect(page).not.toContain('## Submit')
    expect(page).not.toContain('busy')
  })

  test('has tables of the tasks that wait, and marks whoever had fewer', () => {
    const waits = (system: string, waiting: number) => ({
      system,
      workload: 'waiting-100000',
      round: 0,
      figures: {
        waiting,
        cut: waiting < 100_000 ? 1 : 0,
        reachedPerSecond: 9_876,
        cpuPer10000: 1.5,
        emptyMiB: 90.2,
        waitingMiB: 150.4,
        storeBytes: 1_452.3,
        idleCpuMs: 1.23,
        p50Ms: 1,
        p95Ms: 2,
        p99Ms: 3,
        wakePerSecond: 4_321,
        startMs: 180,
      },
    })
    const found = { ...findings, results: [waits('ku0', 100_000), waits('other', 4_321)] }
    const plots = plotsOf(found)
    const page = renderPage(found, new Set(plots.keys()))
    expect([...plots.keys()]).toEqual(['waiting'])
    expect(page).toContain('![100 000 tasks that wait](performance-waiting.svg)')
    expect(page).toContain('| this runtime | 100 000 | 9 880 | 1.50 | 90 MiB | 150 MiB | 1 450 | 1.2 ms |')
    expect(page).toContain('| the "other" one ¹ | 1.0 ms | 2.0 ms | 3.0 ms | 4 320 | 180 ms |')
    expect(page).toContain('¹ Its time was over before all tasks had reached their wait')
  })

  test('says when the machine was busy', () => {
    expect(renderPage({ ...findings, load: { before: 9, between: 9 } }, new Set())).toContain(
      '9.0 processes wanted its 2 cores',
    )
  })

  test('has pictures with all that was measured, the most first', () => {
    const plots = plotsOf(findings)
    expect([...plots.keys()]).toEqual(['drain-20000'])
    const svg = plots.get('drain-20000') ?? ''
    expect(svg.indexOf('this runtime')).toBeLessThan(svg.indexOf('the &quot;other&quot; one'))
    expect(svg).toContain('>22 345<')
  })

  test('groups digits by three', () => {
    expect([1, 999, 1_000, 1_234_567].map(count)).toEqual(['1', '999', '1 000', '1 234 567'])
  })
})

test('tasks come to their wait, others run beside them, some are woken, and the next process runs beside the rest', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'waits-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [system] = systems
  if (system === undefined) throw new Error('there is no system')
  const said: Said[] = []
  const seat: Seat = {
    system,
    place: { folder, url: '' },
    open: ku0(join(import.meta.dirname, '../../packages/agent-runtime/src/index.ts'), 'full'),
    say: async (it) => void said.push(it),
  }
  const limits = { fillMs: 60_000, limitMs: 60_000 }
  const figures = await wait(seat, { role: 'wait', count: 60, wakes: 20, pickUps: 3, idleMs: 1, ...limits })
  expect(figures).toMatchObject({ waiting: 60, cut: 0, woken: 20 })
  const names = ['reachedPerSecond', 'cpuPer10000', 'emptyMiB', 'waitingMiB', 'p50Ms', 'wakePerSecond']
  expect(names.filter((name) => !((figures[name] ?? 0) > 0))).toEqual([])
  const next = { role: 'beside', count: 60, task: 120, submits: true, limitMs: 60_000 } as const
  expect(await beside(seat, next)).toEqual({ begun: 1 })
  expect(said).toMatchObject([{ said: 'began', task: 120 }])
})

describe('a loss of speed', () => {
  const pair = (own: number, raw: number) => ({
    own: { submit: own, drain: own, steps: own },
    raw: { submit: raw, drain: raw, steps: raw },
  })
  const passed = (pairs: readonly ReturnType<typeof pair>[]) =>
    verdictsOn(pairs, { submit: 4, drain: 4, steps: 4 }).map((it) => it.passed)

  test('is a quarter more CPU for the same rows, whatever the machine', () => {
    expect(passed([pair(4, 1), pair(8, 2), pair(4, 1)])).toEqual([true, true, true])
    expect(passed([pair(4.9, 1)])).toEqual([true, true, true])
    expect(passed([pair(5.1, 1), pair(5.2, 1), pair(10.2, 2)])).toEqual([false, false, false])
  })

  test('is no single run that was disturbed, on either side', () => {
    expect(passed([pair(4, 1), pair(20, 1), pair(4, 1)])).toEqual([true, true, true])
    expect(passed([pair(9, 1), pair(9, 1), pair(4, 1)])).toEqual([true, true, true])
  })
})

test('the processor time of a process holds that of its ended children, whatever its name is', () => {
  const stat = '42 (a ) name) S 7 42 42 0 -1 4194560 100 0 0 0 150 50 25 75 20 0 1 0 100 0 0'
  expect(parseStat(stat)).toEqual({ parent: 7, cpuSeconds: 3 })
  expect(parseStat('')).toBeUndefined()
})

describe('two revisions', () => {
  test('lead equally often', () => {
    expect(readRounds('8')).toEqual({ rounds: 8 })
    for (const text of ['7', '2.5', '0', '-2', 'many', ''])
      expect(readRounds(text)).toEqual({ wrong: `--rounds takes an even number above 0, not ${text}` })
  })

  test('are packed whole or not at all, whoever ended a run before', () => {
    const home = mkdtempSync(join(tmpdir(), 'paired-'))
    onTestFinished(() => rmSync(home, { recursive: true }))
    const folder = join(home, 'packed')
    let made = 0
    const make = (name: string, isEnded: boolean) =>
      wholeFolder(folder, (unfinished) => {
        made += 1
        mkdirSync(unfinished)
        writeFileSync(join(unfinished, name), '')
        if (isEnded) throw new Error('ended')
      })
    expect(() => make('half', true)).toThrow('ended')
    expect(readdirSync(home)).toEqual(['packed.new'])
    make('whole', false)
    make('again', false)
    expect(made).toBe(2)
    expect([readdirSync(home), readdirSync(folder)]).toEqual([['packed'], ['whole']])
  })
})
