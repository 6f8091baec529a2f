import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { exitCode } from '../src/cli/exit-code.ts'
import { promisesCommand } from '../src/cli/promises-command.ts'
import { CodeCache } from '../src/host/code-cache.ts'
import { type Burst, judgeBackpressure, measureBackpressure } from '../src/promises/backpressure.ts'
import { measureCancels } from '../src/promises/cancels.ts'
import { judgeEdits, measureEdits } from '../src/promises/edits.ts'
import { type Figure, type Measured, missesIn } from '../src/promises/figures.ts'
import { judgeFollowing, measureFollowing, type Seen } from '../src/promises/follow.ts'
import { judgeOrder, measureOrder, type OrderLog } from '../src/promises/order.ts'
import { orderScript } from '../src/promises/order-script.ts'
import { measureRestart, slowness } from '../src/promises/restart.ts'
import { measureTakeover } from '../src/promises/takeover.ts'

const folder = mkdtempSync(join(tmpdir(), 'promises-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const { signal } = new AbortController()
const cache = CodeCache.open()
afterAll(() => cache[Symbol.dispose]())
const means = { seed: 1, compileCache: cache.folder, signal }

/** What was missed but for times, which a busy machine may stretch. */
function missesButTimes(measured: Measured): readonly string[] {
  return missesIn([{ ...measured, figures: measured.figures.filter(({ unit }) => unit !== 'ms') }])
}

function times({ figures }: Measured): readonly (number | null)[] {
  return figures.filter(({ unit }) => unit === 'ms').map(({ value }) => value)
}

describe('promises with a figure, measured on real processes', () => {
  test('R5 every task that was in flight at a kill takes a new step after the restart', async () => {
    const measured = await measureRestart({ restarts: 1, inFlight: 20 }, means)
    expect(missesButTimes(measured)).toEqual([])
    expect(times(measured).filter((ms) => ms === null || ms > 30_000)).toEqual([])
  })

  test('R5 the bar of a restart is longer where plain SQLite is slower, and never shorter', () => {
    expect([null, 220_000, 110_000, 55_000].map(slowness)).toEqual([1, 1, 1, 2])
  })

  test('R5 another process takes over the tasks of one that is stopped', async () => {
    const measured = await measureTakeover({ stops: 1, ttl: 3_000 }, means)
    expect(missesButTimes(measured)).toEqual([])
    expect(times(measured).filter((ms) => ms === null || ms > 30_000)).toEqual([])
  })

  test('R6 the same tasks are started in the same order, by the published rule, in each process, whichever Node is named for it', async () => {
    const measured = await measureOrder({ orders: 1, tasks: 40, nodes: [process.execPath] }, means)
    expect(missesIn([measured])).toEqual([])
    expect(valueOf(measured, 'runs from scratch')).toBe(2)
    expect(valueOf(measured, 'more than one worker')).toBeGreaterThan(10)
  })

  test('R7 fifty submitters at once fill the queue to exactly 500 and 1000', async () => {
    expect(missesIn([await measureBackpressure(1, means)])).toEqual([])
  })

  test('R8 a cancel is final when it is answered, and reaches every handler and every process of its tool', async () => {
    expect(missesButTimes(await measureCancels(1, means))).toEqual([])
  })

  test('R9 a reader that leaves and comes back is given every event once, in order', async () => {
    expect(missesIn([await measureFollowing(25, means)])).toEqual([])
  })

  test('R9 every edit of a single event is found where it is', async () => {
    const measured = await measureEdits(25, means)
    expect(missesIn([measured])).toEqual([])
    expect(valueOf(measured, 'edits made')).toBe(25)
  })
})

function valueOf({ figures }: Measured, what: string): number | null | undefined {
  return figures.find((figure) => figure.what.includes(what))?.value
}

describe('would be found out', () => {
  test.each<[string, Figure, string]>([
    [
      'too slow',
      { what: 'it took', value: 1_001, unit: 'ms', bar: { atMost: 1_000 } },
      'it took: 1 001 ms, the bar is at most 1 000 ms',
    ],
    [
      'one too many',
      { what: 'let in', value: 501, unit: '', bar: { equals: 500 } },
      'let in: 501, the bar is 500',
    ],
    ['too few', { what: 'made', value: 0, unit: '', bar: { atLeast: 1 } }, 'made: 0, the bar is at least 1'],
    [
      'never',
      { what: 'it took', value: Infinity, unit: 'ms', bar: { atMost: 9 } },
      'it took: never, the bar is at most 9 ms',
    ],
    [
      'nothing to measure it on',
      { what: 'it took', value: null, unit: 'ms', bar: { atMost: 9 } },
      'it took: –, the bar is at most 9 ms',
    ],
  ])('a figure beyond its bar: %s', (_, figure, miss) => {
    expect(missesIn([{ promise: 'R0', figures: [figure], faults: ['a fault'] }])).toEqual([
      `R0: ${miss}`,
      'R0: a fault',
    ])
    const { bar, ...rest } = figure
    expect(bar).toBeDefined()
    expect(missesIn([{ promise: 'R0', figures: [rest], faults: [] }])).toEqual([])
  })

  const script = orderScript(40, 1)
  const log: OrderLog = { node: 'Node 26', starts: script.starts, hashes: ['t1 a\n'] }
  const swapped = script.starts.toSpliced(3, 2, ...script.starts.slice(3, 5).toReversed())
  test.each<[string, OrderLog]>([
    ['two starts that changed places', { ...log, starts: swapped }],
    ['a start too many', { ...log, starts: [...log.starts, 'x'] }],
    ['a start that is missing', { ...log, starts: log.starts.slice(1) }],
    [
      'another worker',
      { ...log, starts: log.starts.with(5, (log.starts[5] ?? '').replace(/\w+\n$/, 'z\n')) },
    ],
    ['another history', { ...log, hashes: ['t1 b\n'] }],
  ])('R6 %s', (_, other) => {
    expect(missesIn([judgeOrder(2, script, [log, log])])).toEqual([])
    expect(missesIn([judgeOrder(2, script, [log, other])])).not.toEqual([])
  })

  const batch: Burst = { answers: { accepted: 500, backpressure: 100 }, queued: 500 }
  const normal: Burst = { answers: { accepted: 500, queue_full: 100 }, queued: 1_000 }
  test.each<[string, Partial<{ batch: Burst; normal: Burst }>]>([
    ['a batch task too many', { batch: { ...batch, answers: { accepted: 501, backpressure: 99 } } }],
    ['a batch task too few', { batch: { ...batch, answers: { accepted: 499, backpressure: 101 } } }],
    ['a refusal for another reason', { batch: { ...batch, answers: { accepted: 500, queue_full: 100 } } }],
    ['a task that was let in and not told', { batch: { ...batch, queued: 501 } }],
    ['a task too many for the queue', { normal: { ...normal, queued: 1_001 } }],
    ['an answer that is missing', { normal: { ...normal, answers: { accepted: 500, queue_full: 99 } } }],
  ])('R7 %s', (_, change) => {
    expect(missesIn([judgeBackpressure(1, [{ batch, normal }])])).toEqual([])
    expect(missesIn([judgeBackpressure(1, [{ batch, normal, ...change }])])).not.toEqual([])
  })

  const stored: Seen[] = [
    { seq: 1, type: 'task.queued', hash: 'a' },
    { seq: 2, type: 'task.started', hash: 'b' },
    { seq: 3, type: 'task.completed', hash: 'c' },
  ]
  const [one, two, three] = stored as [Seen, Seen, Seen]
  test.each<[string, { seen?: readonly Seen[]; stored?: readonly Seen[]; live?: number }]>([
    ['a gap', { seen: [one, three] }],
    ['a repetition', { seen: [one, two, two, three] }],
    ['another order', { seen: [two, one, three] }],
    ['another event', { seen: [one, { ...two, hash: 'x' }, three] }],
    ['a number that nothing has', { stored: [one, three], seen: [one, three] }],
    ['no end', { stored: [one, two], seen: [one, two] }],
    ['a task that was over before', { live: 0 }],
  ])('R9 %s', (_, change) => {
    const given = { reconnects: 1, live: 1, seen: stored, stored }
    expect(missesIn([judgeFollowing(given)])).toEqual([])
    expect(missesIn([judgeFollowing({ ...given, ...change })])).not.toEqual([])
  })

  test('R9 an edit that nobody notices, and a check that always complains', () => {
    const edits = { asked: 1_000, edits: 1_000, possible: 2_000, silent: [], isMended: true }
    expect(missesIn([judgeEdits(edits)])).toEqual([])
    expect(missesIn([judgeEdits({ ...edits, silent: ['task 1, event 2: a ms later'] })])).toEqual([
      'R9 edits: edits found by verify, at their place: 99.9 %, the bar is 100 %',
      'R9 edits: not found: task 1, event 2: a ms later',
    ])
    expect(missesIn([judgeEdits({ ...edits, isMended: false })])).toHaveLength(1)
    expect(missesIn([judgeEdits({ ...edits, edits: 0 })])).toHaveLength(2)
  })
})

describe('the command', () => {
  const none = ['--restarts', '--stops', '--orders', '--bursts', '--cancels', '--reconnects', '--edits']

  async function run(...args: readonly string[]) {
    const said = { out: '', err: '' }
    const screen = (name: 'out' | 'err') => ({ write: (text: string) => void (said[name] += text) })
    const off = none.flatMap((flag) => [flag, '0'])
    const code = await promisesCommand([...off, ...args], { out: screen('out'), err: screen('err') }, signal)
    return { code, ...said }
  }

  test('prints the result as a page, and exits with 0 when every bar was reached', async () => {
    const { code, out, err } = await run('--reconnects', '3', '--edits', '3', '--evidence')
    expect(err).toBe('3 reconnects of a reader\n3 edits of an event\n')
    expect(out).toMatch(/^# Evidence: promises with a figure\n/)
    expect(out).toContain('| edits found by verify, at their place | 100 % | 100 % | holds |')
    expect(code).toBe(exitCode.ok)
  })

  test('fails when a bar is missed, and tells figure and bar', async () => {
    // A Node that is given another script than the one it is judged by.
    const other = join(folder, 'other-node')
    writeFileSync(other, `#!/bin/sh\nexec '${process.execPath}' "$1" "$2" "$3" "$4" 2\n`)
    chmodSync(other, 0o755)
    const { code, out, err } = await run('--orders', '1', '--tasks', '20', '--node', other)
    expect(err).toMatch(
      /missed: R6 order: starts that the published rule does not give: .*: \d+, the bar is 0\n/,
    )
    expect(err).toMatch(/missed: R6 order: runs whose log .*: 1, the bar is 0\n/)
    expect(out).toContain('MISSED')
    expect(code).toBe(exitCode.failed)
  })

  test('fails when something cannot be measured to its end, and says why', async () => {
    const broken = join(folder, 'broken-node')
    writeFileSync(broken, '#!/bin/sh\necho it is no Node >&2\nexit 3\n')
    chmodSync(broken, 0o755)
    const { code, err } = await run('--orders', '1', '--tasks', '1', '--node', broken)
    expect(err).toMatch(
      /missed: times the same 1 tasks: @ku0\/agent-gym\/order-life ended .*: it is no Node\n/,
    )
    expect(code).toBe(exitCode.failed)
  })

  test('refuses what it does not know', async () => {
    expect(await run('--stop', '1')).toMatchObject({ code: exitCode.usage, out: '' })
    expect(await run('--edits', 'many')).toMatchObject({ code: exitCode.usage, out: '' })
    expect(await run('--node', join(folder, 'nowhere'))).toMatchObject({ code: exitCode.usage, out: '' })
  })
})
