import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { expect, test } from 'vitest'
import { measure } from '../src/measure/measures.ts'
import type { Run } from '../src/measure/measurements.ts'
import { serviceOf, servingsOf } from '../src/measure/service.ts'
import { plotsOf } from '../src/report/plots.ts'
import { renderHtml } from '../src/report/html.ts'
import { goodRun, history, measured, started, taskWith } from './builders.ts'
import { report, scenarioReport } from './report-builders.ts'

/** Tasks of clients a (2000) and b (1000), started in this order; each is queued at its time. */
function run(order: readonly (readonly [client: string, queuedAt: number, cost?: number])[]): Run {
  return goodRun(0, {
    config: parseExecutionConfig({ shares: {} }).config,
    clients: [
      { name: 'a', credits: 2000, tier: 'marketplace' },
      { name: 'b', credits: 1000, tier: 'marketplace' },
    ],
    tasks: order.map(([client, queuedAt, cost = 1], i) =>
      taskWith(
        i + 1,
        history(
          ['task.queued', queuedAt, {}],
          ['task.started', 100 + i, started(i + 1, 1, { dispatch: i + 1 })],
        ),
        { client, cost },
      ),
    ),
  })
}
const value = (name: string, it: Run, about = {}) => measure(name, measured(it), about).value

test('tells shares by what was served while all had tasks queued', () => {
  const it = run([
    ['a', 0],
    ['b', 0],
    ['a', 0],
    ['a', 0],
    ['b', 0],
    ['a', 0],
    ['a', 0],
  ])
  expect(servingsOf(it).map(({ stretch }) => stretch)).toEqual([1, 1, 1, 1, 1, null, null])
  expect(serviceOf(it)).toMatchObject([
    { client: 'a', served: 3, part: 0.6, due: 2 / 3 },
    { client: 'b', served: 2, part: 0.4, due: 1 / 3 },
  ])
  expect(value('serviceError', it)).toBe(0.067)
  // Of a third: b has a fifth more than its due.
  expect(value('dueError', it)).toBe(0.2)
  expect(value('servicePart', it, { client: 'b' })).toBe(0.4)
  // A task of a adds half as much as one of b: they are never further apart than that.
  expect(value('shareGap', it)).toBe(0.5)
})

test('finds a client that was passed over', () => {
  const it = run([
    ['a', 0],
    ['a', 0],
    ['a', 0],
    ['a', 0],
    ['b', 0],
  ])
  expect(value('shareGap', it)).toBe(2)
  expect(value('serviceJain', it)).toBeLessThan(0.95)
})

test('counts a client that comes late from then on', () => {
  const late = run([
    ['a', 0],
    ['a', 0],
    ['a', 0],
    ['b', 102.5],
    ['a', 0],
    ['a', 0],
    ['b', 102.5],
  ])
  expect(servingsOf(late).map(({ stretch }) => stretch)).toEqual([null, null, null, 1, 1, 1, null])
  expect(value('shareGap', late)).toBe(1)
})

test('fairness has no figure for strict tiers, or if nobody waits beside another', () => {
  const alone = run([
    ['a', 0],
    ['a', 0],
  ])
  expect(value('serviceJain', alone)).toBeNull()
  expect(value('shareGap', alone)).toBeNull()
  const [first, second] = alone.clients
  if (first === undefined || second === undefined) throw new Error('no clients')
  const ranked = {
    ...run([
      ['a', 0],
      ['b', 0],
    ]),
    clients: [{ ...first, tier: 'contracted' as const }, second],
  }
  expect(serviceOf(ranked)).toBeNull()
})

test('knows the places of a group in the order of dispatch', () => {
  const it = run([
    ['a', 0],
    ['b', 0],
    ['b', 0],
    ['a', 0],
  ])
  expect([value('firstStart', it, { client: 'b' }), value('lastStart', it, { client: 'b' })]).toEqual([2, 3])
})

test('counts the starts of a window of the quotas', () => {
  const it = run([
    ['a', 0],
    ['a', 0],
    ['a', 0],
    ['a', 0],
  ])
  const { config } = parseExecutionConfig({ quotaConfig: { models: { m: { perWindow: 3 } }, windowMs: 102 } })
  expect(value('peakPerWindow', { ...it, config })).toBe(2)
  expect(
    value('peakTokensPerWindow', { ...it, config, tasks: it.tasks.map((task) => ({ ...task, tokens: 30 })) }),
  ).toBe(60)
  expect(value('peakPerWindow', it)).toBe(0)
})

test('draws what clients were served beside what was due', () => {
  const it = run([
    ['a', 0],
    ['b', 0],
    ['a', 0],
    ['<b>', 0],
    ['b', 0],
  ])
  const page = renderHtml(report([scenarioReport()]), new Map([['one', plotsOf(measured(it))]]))
  expect(page).toContain('Service by client (credits), and what was due while all had tasks queued (dashed)')
  expect(page).toContain('class="line ideal client-1"')
  expect(page).toContain('66.67 %')
  expect(page).not.toMatch(/NaN|undefined|Infinity/)
})

test('lets the line of what was due begin where all have tasks queued', () => {
  const late = run([
    ['a', 0],
    ['a', 0],
    ['b', 101.5],
    ['a', 0],
    ['a', 0],
    ['b', 101.5],
  ])
  const [a, b] = plotsOf(measured(late)).service?.clients ?? []
  expect(a?.steps.map(({ value: served }) => served)).toEqual([1, 2, 2, 3, 4, 4])
  expect(a?.ideal.slice(0, 3).map(({ value: due }) => Math.round(due * 3))).toEqual([3, 6, 8])
  expect(b?.ideal.slice(0, 3).map(({ value: due }) => Math.round(due * 3))).toEqual([0, 0, 1])
})
