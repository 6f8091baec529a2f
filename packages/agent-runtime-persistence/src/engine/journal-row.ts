import { createHash } from 'node:crypto'
import type { EventRow } from '@ku0/agent-runtime-core/transition'

/**
 * What a commit's row in the journal says of the events that it added. `touched`: the stretches of each task's events as
 * `[task, first seq, last seq]`, in JSON. `hash` chains all commits; the hashed bytes are the previous hash, then
 * `ku0.journal.1\n<number>\n<at>\n`, then the hashes of the events in order.
 */
export function journalRow(
  number: number,
  previous: Uint8Array,
  at: number,
  events: readonly EventRow[],
): { readonly touched: string; readonly hash: Uint8Array } {
  const hash = createHash('sha256').update(previous).update(`ku0.journal.1\n${number}\n${at}\n`)
  const hashes = Buffer.allocUnsafe(events.length * 32)
  for (const [index, event] of events.entries()) hashes.set(event.hash, index * 32)
  return { touched: touchedText(events), hash: hash.update(hashes).digest() }
}

function touchedText(events: readonly EventRow[]): string {
  let text = '['
  let task = 0
  let first = 0
  let last = 0
  for (const event of events) {
    if (event.task === task && event.seq === last + 1) {
      last = event.seq
      continue
    }
    if (task !== 0) text += `${text.length > 1 ? ',' : ''}[${task},${first},${last}]`
    task = event.task
    first = last = event.seq
  }
  if (task !== 0) text += `${text.length > 1 ? ',' : ''}[${task},${first},${last}]`
  return `${text}]`
}
