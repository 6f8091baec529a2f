import { suggestionFor } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { completionScripts } from '../completion-scripts.ts'

export const run: Run = async ({ args: [shell = ''], print }) => {
  const write = Object.hasOwn(completionScripts, shell) ? completionScripts[shell] : undefined
  if (write === undefined) {
    const meant = suggestionFor(shell, Object.keys(completionScripts))
    throw new UsageError(
      `there are scripts for bash, zsh and fish; given ${shell}${meant === undefined ? '' : `, did you mean ${meant}?`}`,
    )
  }
  const script = write()
  print.answer({ shell, script }, () => script.split('\n'))
  return 0
}
