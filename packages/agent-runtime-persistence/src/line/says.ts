import type { Turn } from '../engine/turn.ts'

/** Whether a turn says anything. */
export function says({ answers, claims, notices, events, chunks, ...rest }: Turn): boolean {
  return (
    answers.length + claims.length + notices.length + events.length + chunks.length > 0 ||
    rest.schedulesDue ||
    rest.drains !== undefined ||
    rest.settings !== undefined ||
    rest.reach !== undefined ||
    rest.failed !== undefined
  )
}
