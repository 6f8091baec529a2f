import { errorCodes, RuntimeError, StoreError } from '@ku0/agent-runtime-core'
import { LINE_VERSION } from '@ku0/agent-runtime-persistence/lines'

/** The calls that a token does not allow over a line. */
export function notAllowed(what: string, scope: string): RuntimeError {
  return new RuntimeError('line_refused', `${what} needs a token with the scope ${scope}; this one lacks it`)
}

export function notOwn(what: string): RuntimeError {
  return new RuntimeError('line_refused', `${what}, and a line may only use its own`)
}

/** A frame that the protocol does not have, or not there. */
export function wrongFrame(message: string): RuntimeError {
  return new RuntimeError('line_protocol', message)
}

/** A connection that speaks another version. */
export function wrongVersion(version: unknown): StoreError {
  const older = typeof version !== 'number' || version < LINE_VERSION
  return new StoreError(
    'store_newer',
    `this process speaks version ${String(version)} of the worker protocol, and the server speaks ${LINE_VERSION}; upgrade the ${older ? 'worker' : 'server'} to the other's version of @ku0/agent-runtime`,
  )
}

/** The error as a process on a line gets it. The place of a store, and the system's words about it, stay here. */
export function told(error: unknown): Error {
  if (!(error instanceof RuntimeError)) return new RuntimeError('internal', errorCodes.internal.meaning)
  if (!(error instanceof StoreError)) return error
  return new StoreError(error.code, errorCodes[error.code].meaning)
}
