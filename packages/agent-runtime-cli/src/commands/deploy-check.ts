import type { DeployReport } from '@ku0/agent-runtime'
import { describeDivergence } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { placeOfReplay } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import type { Line } from '../screen/printer.ts'
import { many } from '../screen/words.ts'
import { requireTaskTypes } from '../task-types.ts'

export const run: Run = async (call) => {
  const { timeout } = call.options as { readonly timeout?: number }
  const settings = await call.settings()
  const { definitions: tasks, file } = await requireTaskTypes(settings, 'deploy-check')
  const place = await placeOfReplay(settings)
  call.print.patience('replays every unfinished task')
  const { checkDeploy } = await import('@ku0/agent-runtime')
  const report = await checkDeploy({
    ...place,
    tasks,
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
  })
  call.print.answer(report, () => [
    {
      text: `${file} ${report.ok ? 'fits' : 'does not fit'} the ${many(report.checked, 'unfinished task')} of the store`,
      style: report.ok ? 'green' : 'red',
    },
    ...problemsOf(report),
  ])
  return report.ok ? cliExitCodes.ok : cliExitCodes.failed
}

function problemsOf({ counts, ...report }: DeployReport): readonly Line[] {
  const { diverged, unknownTypes, invalidInputs, threw, unsettled, edited } = report
  const section = (count: number, what: string, lines: readonly string[]) =>
    count === 0
      ? []
      : [
          `${many(count, 'task')} ${what}`,
          ...lines.map((line) => `  ${line}`),
          ...(count > lines.length ? [`  and ${count - lines.length} more`] : []),
        ]
  const said = (items: typeof threw) =>
    items.map(({ taskId, type, message }) => `${taskId} ${type}: ${message}`)
  return [
    ...section(
      counts.diverged,
      'would take another path',
      diverged.map((it) => `${it.taskId} ${it.type}: ${describeDivergence(it.divergence)}`),
    ),
    ...(counts.unknownTypes === 0
      ? []
      : [
          `${many(counts.unknownTypes, 'task')} of types that the module does not define: ${Object.entries(
            unknownTypes,
          )
            .map(([type, count]) => `${type} (${count})`)
            .join(', ')}`,
        ]),
    ...section(
      counts.invalidInputs,
      'have an input that does not fit the schema any more',
      said(invalidInputs),
    ),
    ...section(counts.threw, 'would throw', said(threw)),
    ...section(
      counts.unsettled,
      'wait for something of their own',
      unsettled.map(({ taskId, type }) => `${taskId} ${type}`),
    ),
    ...section(counts.edited, 'have a history that was edited', said(edited)),
  ]
}
