import type { ReplayReport } from '@ku0/agent-runtime'
import { describeDivergence } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { placeOfReplay } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import type { Line } from '../screen/printer.ts'
import { many } from '../screen/words.ts'
import { taskIn } from '../task-id.ts'
import { requireTaskTypes } from '../task-types.ts'

export const run: Run = async (call) => {
  const {
    args: [given = ''],
    print,
  } = call
  const { timeout } = call.options as { readonly timeout?: number }
  const settings = await call.settings()
  const { definitions: tasks } = await requireTaskTypes(settings, 'replay')
  const place = await placeOfReplay(settings)
  const { createRuntime } = await import('@ku0/agent-runtime')
  await using runtime = await createRuntime({
    ...place,
    existing: true,
    tasks,
    workers: 0,
    telemetry: false,
    logger: false,
  })
  const report = await runtime.replay(await taskIn(runtime, given), {
    mode: 'verify',
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
  })
  print.answer(report, () => linesOf(report))
  return report.verdict === 'agreed' ? cliExitCodes.ok : cliExitCodes.failed
}

function linesOf({ type, verdict, answered, unused, diverged, error }: ReplayReport): readonly Line[] {
  const { steps, waits, failures } = answered
  return [
    [
      { text: verdict.replaceAll('_', ' '), style: verdict === 'agreed' ? 'green' : 'red' },
      `: ${type}, ${meanings[verdict]}`,
    ],
    ...(diverged === undefined ? [] : [`  ${describeDivergence(diverged)}`]),
    ...(error === undefined ? [] : [`  ${error.message}`]),
    `  the history answered ${many(steps, 'step')}, ${many(waits, 'wait')}, ${many(failures, 'failure')}; ${many(unused, 'call')} not reached`,
  ]
}

const meanings: Readonly<Record<ReplayReport['verdict'], string>> = {
  agreed: 'the code does what the history holds',
  diverged: 'the code takes another path than the history',
  threw: 'the code throws where no pass had thrown',
  invalid_input: 'the stored input does not fit the schema',
  unknown_type: 'the module does not define the type of the task',
  unsettled: 'the code waits for something of its own',
  edited: 'the history in the store is not the one that was written',
}
