import { backupStore } from '@ku0/agent-runtime-persistence'
import { cliExitCodes } from '../exit-codes.ts'
import type { Run } from '../call.ts'
import { shownUrl, storeUrl } from '../store-argument.ts'
import { count, dated, size } from '../screen/words.ts'

export const run: Run = async (call) => {
  const {
    args: [store = '', target = ''],
    print,
    signal,
  } = call
  print.patience(`copies ${shownUrl(store)}, and verifies the copy`)
  const report = await backupStore(storeUrl(store), target, { signal })
  const { path, bytes, commit, at, tasks, events } = report
  print.answer(report, () => [
    `${path}: a copy that verifies, ${size(bytes)}`,
    `  tasks ${count(tasks)}, events ${count(events)}`,
    `  last commit: ${at === null ? 'none' : `${count(commit)} of ${dated(at)}`}`,
  ])
  return cliExitCodes.ok
}
