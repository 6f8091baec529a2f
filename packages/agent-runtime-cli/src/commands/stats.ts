import { type Series, type SeriesFilter, settingsAmong, type StoreStats } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import type { Line } from '../screen/printer.ts'
import { inForceFor, processesText, unlikeLines } from '../screen/in-force.ts'
import { show } from '../screen/repeat.ts'
import { pairs, table } from '../screen/table.ts'
import { pausedText } from '../screen/paused.ts'
import { ago, count, many } from '../screen/words.ts'

export const run: Run = async (call) => {
  const { print, system } = call
  const read = await call.settings()
  await using client = await connect(read)
  let before: { readonly at: number; readonly completed: number; readonly submitted: number } | undefined
  const since = call.options['since'] as number | undefined
  return await show(call, async (isWatching) => {
    if (since !== undefined) {
      const series = await client.series(stepsOf(since))
      if (isWatching) print.screen(series, () => rowsOf(series))
      else print.answer(series, () => rowsOf(series))
      return
    }
    const stats = await client.stats()
    const { depth, delayed, running, waiting, totals, quotas, paused, configurations = [] } = stats
    const found = await inForceFor(configurations, read.config)
    const unlike = unlikeLines(configurations, found)
    const differing = settingsAmong(configurations).length
    const at = system.now()
    const rate = (name: 'completed' | 'submitted') =>
      before === undefined || at <= before.at
        ? ''
        : `  ${(((totals[name] - before[name]) * 1_000) / (at - before.at)).toFixed(1)}/s`
    const lines = (): readonly Line[] => [
      ...pairs([
        [
          'queued',
          `interactive ${count(depth.interactive)}, normal ${count(depth.normal)}, batch ${count(depth.batch)}`,
        ],
        ['paused', paused.length === 0 ? undefined : { text: pausedText(paused, at), style: 'yellow' }],
        [
          'settings',
          found === undefined
            ? undefined
            : `those of ${processesText(found)} are in force; agent-runtime config --in-force shows them`,
        ],
        [
          '',
          differing === 0
            ? undefined
            : { text: `${many(differing, 'setting')} in which processes differ`, style: 'yellow' },
        ],
        ['delayed', count(delayed)],
        ['running', count(running)],
        ['waiting', count(waiting)],
        ['submitted', count(totals.submitted) + rate('submitted')],
        ['completed', count(totals.completed) + rate('completed')],
        ['failed', { text: count(totals.failed), style: totals.failed > 0 ? 'red' : 'dim' }],
        ['canceled', count(totals.canceled)],
        ['refused', count(totals.rejected)],
        [
          'requeued',
          totals.requeued === 0
            ? '0'
            : `${count(totals.requeued)} (${count(totals.expired)} after a lost lease, ${count(totals.preempted)} preempted)`,
        ],
      ]),
      ...(quotas.length === 0
        ? []
        : [
            '',
            ...table(
              ['QUOTA', 'RUNNING', 'QUEUED', 'WINDOW', 'BLOCKED'],
              quotas.map((quota) => quotaRow(quota, at)),
            ),
          ]),
      ...(unlike.length === 0 ? [] : ['', ...unlike]),
    ]
    if (isWatching) print.screen(stats, lines)
    else print.answer(stats, lines)
    before = { at, completed: totals.completed, submitted: totals.submitted }
  })
}

/** A server takes no steps below a second. */
function stepsOf(since: number): SeriesFilter {
  const windowMs = Math.max(1_000, since)
  return { windowMs, stepMs: Math.max(1_000, Math.ceil(windowMs / 20)) }
}

function rowsOf({ points }: Series): readonly Line[] {
  return table(
    [
      'UNTIL',
      'STARTED',
      'COMPLETED',
      'FAILED',
      'REFUSED',
      'RUNNING',
      'QUEUED',
      'HALF WAITED',
      '95 % WAITED',
      '99 % WAITED',
    ],
    points.map(({ at, started, completed, failed, refused, running, queued, wait }) => [
      new Date(at).toISOString(),
      ...[started, completed, failed].map(count),
      refused === undefined ? '' : refusals(refused),
      count(running),
      queued === undefined ? '' : count(queued.interactive + queued.normal + queued.batch),
      wait === undefined ? '' : `${count(wait.half)} ms`,
      wait === undefined ? '' : `${count(wait.most)} ms`,
      wait === undefined ? '' : `${count(wait.nearly)} ms`,
    ]),
  )
}

/** `0`, or `3: queue_full 2, backpressure 1`. */
function refusals(byReason: NonNullable<Series['points'][number]['refused']>): string {
  const all = Object.entries(byReason)
  const sum = all.reduce((total, [, number]) => total + number, 0)
  return sum === 0
    ? '0'
    : `${count(sum)}: ${all.map(([reason, number]) => `${reason} ${count(number)}`).join(', ')}`
}

function quotaRow(
  { key, running, queued, maxInFlight, window, blockedUntil }: StoreStats['quotas'][number],
  now: number,
): readonly string[] {
  return [
    key,
    maxInFlight === undefined ? count(running) : `${count(running)} of ${count(maxInFlight)}`,
    count(queued),
    window === undefined
      ? ''
      : `${many(window.tasks, 'task')}, ${many(window.tokens, 'token')}; resets ${ago(window.resetsAt, now)}`,
    blockedUntil === undefined || blockedUntil <= now
      ? ''
      : `by its provider, ends ${ago(blockedUntil, now)}`,
  ]
}
