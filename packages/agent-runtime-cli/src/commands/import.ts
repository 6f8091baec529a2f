import { importStore } from '@ku0/agent-runtime-persistence'
import { cliExitCodes } from '../exit-codes.ts'
import { UsageError } from '../complain.ts'
import type { Run } from '../call.ts'
import { shownUrl, storeUrl } from '../store-argument.ts'
import { count, dated } from '../screen/words.ts'

export const run: Run = async ({ args: [file = '', store = ''], print, signal }) => {
  if (!/^postgres(?:ql)?:/i.test(store))
    throw new UsageError(
      `${shownUrl(store)} is no store on PostgreSQL, postgres://HOST/DATABASE?schema=NAME; agent-runtime backup copies a store into a file`,
    )
  print.patience(`copies ${file}, and verifies the copy`)
  const report = await importStore(storeUrl(file), store, { signal })
  const { commit, at, tasks, events, restored } = report
  print.answer(report, () => [
    `${shownUrl(store)}: has the store of ${file}, and it verifies`,
    `  tasks ${count(tasks)}, events ${count(events)}`,
    `  last commit: ${at === null ? 'none' : `${count(commit)} of ${dated(at)}`}`,
    restored
      ? `  ${file} is a copy: what its store did after the copy is not there`
      : `  go on with --store ${shownUrl(store)}, and no more with ${file}`,
  ])
  return cliExitCodes.ok
}
