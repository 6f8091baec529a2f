import { createHash } from 'node:crypto'
import { type Digest, foldRunOrder, orderOfHistory } from '@ku0/agent-runtime-core'
import type { EventFact, Run } from './measurements.ts'

/** A task's order hash, from its events; null without any. Source: `docs/semantics.md 6.2`. */
export function orderHashOfTask(events: readonly EventFact[]): string | null {
  return events.length === 0 ? null : orderOfHistory(events, digest).hash
}

/** A run's order hash: its tasks' by submission sequence. Null where a task's events were not read, or there is no task. */
export function orderHashOf(run: Run): string | null {
  const hashes = run.tasks.toSorted((a, b) => a.sequence - b.sequence).map(({ orderHash }) => orderHash)
  const known = hashes.filter((hash) => hash !== null)
  return known.length === 0 || known.length < hashes.length ? null : foldRunOrder(known, digest)
}

const digest: Digest = {
  sha256: (bytes) => createHash('sha256').update(bytes).digest(),
  sha256Hex: (text) => createHash('sha256').update(text).digest('hex'),
}
