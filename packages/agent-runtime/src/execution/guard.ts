import type { UsageSum } from '@ku0/agent-runtime-core'
import type { Heartbeat } from '../api/profiles.ts'
import type { Stop } from '../lease/cancellation.ts'

/**
 * Holds a pass to its limits from outside of the thread or process that runs it, where a handler that never returns cannot
 * keep it from acting. Source: `docs/decisions/0033-isolation.md`.
 */
export interface Guard {
  /** The handler begins: its time limit starts. */
  entered(): void
  /** The handler has to stop: its grace starts. */
  stopping(kind: Stop['kind']): void
  /** The handler has used this; a write records it later. */
  charged(usage: UsageSum): void
  heartbeat(report: Heartbeat): Promise<'ok' | 'stale'>
}
