import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import type { Line } from '../screen/printer.ts'
import { show } from '../screen/repeat.ts'
import { pairs, table } from '../screen/table.ts'
import { count } from '../screen/words.ts'

export const run: Run = async (call) => {
  const { print, system } = call
  await using client = await connect(await call.settings())
  let before: { readonly at: number; readonly completed: number; readonly submitted: number } | undefined
  return await show(call, async (isWatching) => {
    const stats = await client.stats()
    const { depth, delayed, running, waiting, totals, quotas } = stats
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
          `${count(totals.requeued)}, ${count(totals.expired)} after a lease expired, ${count(totals.preempted)} preempted`,
        ],
      ]),
      ...(quotas.length === 0
        ? []
        : [
            '',
            ...table(
              ['QUOTA', 'STATE'],
              quotas.map(({ key, ...rest }) => [key, JSON.stringify(rest)]),
            ),
          ]),
    ]
    if (isWatching) print.screen(stats, lines)
    else print.answer(stats, lines)
    before = { at, completed: totals.completed, submitted: totals.submitted }
  })
}
