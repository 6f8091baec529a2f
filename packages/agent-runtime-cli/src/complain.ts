import { describeError, RuntimeError } from '@ku0/agent-runtime-core'
import { cliExitCodes, exitCodeOf } from './exit-codes.ts'
import type { Outlet } from './outlet.ts'
import { toJson } from './screen/json.ts'
import { plain } from './screen/plain.ts'

/** The arguments do not fit; nothing was done. */
export class UsageError extends Error {}

/** Says what went wrong, without a stack, and returns what the command exits with. `command` is the one that was called, such as `token create`; empty if none was. */
export function complain(
  error: unknown,
  isJson: boolean,
  { err }: Pick<Outlet, 'err'>,
  command: string,
): number {
  const isUsage = error instanceof UsageError
  const { message: whole, code } = describeError(error)
  // The name of a call helps a program; here nobody has made it.
  const message = whole.replace(/^(?:approvals|budgets|clients|schedules|supervisors)\.\w+: /, '')
  if (isJson) {
    const details = error instanceof RuntimeError ? { details: error.details } : {}
    err(
      `${toJson({ error: { code: isUsage ? 'invalid_argument' : (code ?? 'internal'), message, ...details } })}\n`,
    )
  } else {
    const isDamaged = (code === 'store_corrupt' || code === 'store_data_loss') && command !== 'verify'
    const hint = isDamaged
      ? '; agent-runtime verify shows what is left'
      : isUsage
        ? `${message.endsWith('?') ? ' See' : '; see'} agent-runtime ${command === '' ? '' : `${command} `}--help`
        : ''
    err(`agent-runtime: ${linesOf(message)}${hint}\n`)
  }
  return isUsage ? cliExitCodes.usage : exitCodeOf(error)
}

/** A message in lines, as only a configuration's has them; their control characters are shown. */
function linesOf(message: string): string {
  return message.split('\n').map(plain).join('\n')
}
