import { backupStore } from '@ku0/agent-runtime-persistence'
import { cliExitCodes } from '../exit-codes.ts'
import type { Command } from '../run-command.ts'
import { storeUrl } from '../store-argument.ts'
import { count, dated, size } from '../words.ts'

export const backup: Command = {
  usage: 'backup STORE FILE',
  about: 'copies a store into a new file, and verifies the copy; may run while it is in use',
  positionals: 2,
  options: {},
  help: [],
  run: async ({ positionals: [store = '', target = ''], signal }) => {
    const report = await backupStore(storeUrl(store), target, { signal })
    const { path, bytes, commit, at, tasks, events } = report
    return {
      exitCode: cliExitCodes.ok,
      report,
      lines: [
        `${path}: a copy that verifies, ${size(bytes)}`,
        `  tasks ${count(tasks)}, events ${count(events)}`,
        `  last commit: ${at === null ? 'none' : `${count(commit)} of ${dated(at)}`}`,
      ],
    }
  },
}
