import type { IdCodec, StoredEvent } from '@ku0/agent-runtime-core'
import { blobReference } from '@ku0/agent-runtime-core/transition'

/** Events of the commits after one, up to another, in order. */
export const eventsText = `SELECT event.task, task.explicit_id, event.seq, event.type, event.at, event.data, event.hash, blob.sha256, blob.data
  FROM journal CROSS JOIN json_array_elements(journal.touched::json) WITH ORDINALITY AS touched (stretch, place)
    JOIN event ON event.task = (stretch ->> 0)::bigint AND event.seq BETWEEN (stretch ->> 1)::bigint AND (stretch ->> 2)::bigint
    JOIN task ON task.id = event.task LEFT JOIN blob ON blob.sha256 = event.blob
  WHERE number > $1::bigint AND number <= $2::bigint ORDER BY number, place, event.seq`

/** A row of {@link eventsText} as an event. */
export function foreignEvent(row: readonly unknown[], ids: IdCodec): StoredEvent {
  const [task, explicitId, seq, type, at, data, hash, blob, text] = row as FoundEvent
  return {
    taskId: explicitId ?? ids.task(task),
    seq,
    type,
    at,
    data: blob === null || text === null ? data : data.replace(blobReference(blob, text.length), () => text),
    hash: hash.toString('hex'),
  }
}

type FoundEvent = [
  task: number,
  explicitId: string | null,
  seq: number,
  type: StoredEvent['type'],
  at: number,
  data: string,
  hash: Buffer,
  blob: string | null,
  text: string | null,
]
