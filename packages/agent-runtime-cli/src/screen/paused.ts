import type { QueuePause } from '@ku0/agent-runtime-core'
import { ago } from './words.ts'

/** The pauses, on one line. */
export function pausedText(pauses: readonly QueuePause[], now: number): string {
  return pauses
    .map((it) => `${'type' in it ? `type ${it.type}` : `lane ${it.lane}`} (${ago(it.since, now)})`)
    .join(', ')
}
