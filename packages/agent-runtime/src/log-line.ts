import type { ErrorRecord } from '@ku0/agent-runtime-core'
import { type LogLine, type RuntimeLogger, silent } from './api/logger.ts'

/**
 * Where the runtime's own log lines and those of `ctx.log` go. What a handler, a hook or a listener threw is told by name and
 * code, unless `withPayloads`: its message may hold anything. A stack is for debugging, and is told where the logger is set
 * to that. What a handler logs by itself is left as it is. A sink that throws costs a line, never a task. Source:
 * `docs/semantics.md 16.3`.
 */
export function lineTo(
  logger: RuntimeLogger | undefined,
  { withPayloads }: { readonly withPayloads: boolean },
): LogLine {
  if (logger === undefined) return silent
  return (level, message, fields = {}, author) => {
    try {
      const { error } = fields
      const tells = { messages: withPayloads, stacks: logger.isLevelEnabled?.('debug') === true }
      const told = author === 'handler' || !isRecordOfError(error)
      logger[level](told ? fields : { ...fields, error: discreet(error, tells) }, message)
    } catch {
      // There is no other place to say it.
    }
  }
}

function discreet(
  { name, message, code, status, stack, cause }: ErrorRecord,
  tells: { readonly messages: boolean; readonly stacks: boolean },
): Partial<ErrorRecord> {
  const speaks = tells.messages || isOurs(name, code)
  return {
    name,
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    ...(speaks ? { message } : {}),
    // Its first line is the message.
    ...(speaks && tells.stacks && stack !== undefined ? { stack } : {}),
    ...(cause === undefined ? {} : { cause: discreet(cause, tells) as ErrorRecord }),
  }
}

/** Errors whose messages are the runtime's own words, and quote nothing that a caller, a handler or a schema wrote. */
function isOurs(name: string, code: string | undefined): boolean {
  return ownNames.has(name) && code !== undefined && (code.startsWith('store_') || ownCodes.has(code))
}

const ownNames: ReadonlySet<string> = new Set([
  'LeaseLost',
  'PayloadTooLarge',
  'RuntimeError',
  'StoreError',
  'TimeoutError',
])

const ownCodes: ReadonlySet<string> = new Set([
  'budget_exceeded',
  'internal',
  'lease_lost',
  'limit_exceeded',
  'payload_too_large',
  'shutdown',
  'step_outside_handler',
  'timeout',
])

function isRecordOfError(value: unknown): value is ErrorRecord {
  if (typeof value !== 'object' || value === null || value instanceof Error) return false
  const { name, message } = value as Partial<ErrorRecord>
  return typeof name === 'string' && typeof message === 'string'
}
