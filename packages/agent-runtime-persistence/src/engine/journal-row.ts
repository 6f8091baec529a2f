import { hash } from 'node:crypto'
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
  const header = `ku0.journal.1\n${number}\n${at}\n`
  const size = previous.length + header.length + events.length * digestBytes
  if (scratch.length < size) scratch = Buffer.allocUnsafe(size * 2)
  scratch.set(previous, 0)
  let end = previous.length
  end += scratch.write(header, end, 'latin1')
  for (const event of events) {
    scratch.set(event.hash, end)
    end += digestBytes
  }
  // In one call, since a hash object takes twice the time: 1.5 µs of processor time for one event, and 0.8 without it.
  const digest = hash('sha256', scratch.subarray(0, end), 'latin1')
  return { touched: touchedText(events), hash: Buffer.from(digest, 'latin1') }
}

const digestBytes = 32
let scratch = Buffer.allocUnsafe(4096)

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
