import {
  errorCodes,
  type ExecutionStore,
  type OutcomeOf,
  RuntimeError,
  type Write,
  type WriteKind,
} from '@ku0/agent-runtime-core'
import type { Deadlines } from './deadlines.ts'

/**
 * Repeats a write while the store is busy, full or unavailable, as long as that makes sense: trouble with the
 * store fails no task. Throws the last error. Source: `docs/reliability.md` D01, D03.
 */
export async function insist<K extends WriteKind>(
  parts: { readonly store: Pick<ExecutionStore, 'write'>; readonly deadlines: Deadlines },
  operation: Write<K>,
  first: unknown,
  hasPoint: () => boolean,
): Promise<OutcomeOf<K>> {
  let error = first
  while (isPassing(error) && hasPoint()) {
    await new Promise<void>((resume) => parts.deadlines.after(STORE_RETRY_MS, resume))
    try {
      return await parts.store.write(operation)
    } catch (next) {
      error = next
    }
  }
  throw error
}

/** The store itself retries too; this is for trouble that lasts longer, such as a full disk. */
const STORE_RETRY_MS = 250

function isPassing(error: unknown): boolean {
  if (!(error instanceof RuntimeError)) return false
  const entry = errorCodes[error.code]
  return 'retryable' in entry && entry.retryable
}
