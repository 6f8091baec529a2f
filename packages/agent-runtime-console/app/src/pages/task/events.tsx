import type { RuntimeEvent } from '@ku0/agent-runtime-client'
import { useState } from 'react'
import { CopyJson } from '../../ui/copy.tsx'
import { Json } from '../../ui/json.tsx'
import { Moment } from '../../ui/now.tsx'

const MOST = 200

/** Events with their data and hashes; the newest last. */
export function EventList({
  events,
  isShort = false,
}: {
  readonly events: readonly RuntimeEvent[]
  readonly isShort?: boolean
}) {
  const [most, setMost] = useState(MOST)
  const [part, setPart] = useState('')
  const wanted = part === '' ? events : events.filter((it) => JSON.stringify(it).includes(part))
  const shown = wanted.slice(-most)
  return (
    <>
      {isShort ? null : (
        <div className="row wrap">
          <label className="field">
            <span>Only events with</span>
            <input value={part} placeholder="step.failed" onChange={({ target }) => setPart(target.value)} />
          </label>
          <CopyJson value={wanted} />
        </div>
      )}
      {wanted.length > shown.length ? (
        <button type="button" onClick={() => setMost(most + 1_000)}>
          Show {Math.min(1_000, wanted.length - shown.length)} before these
        </button>
      ) : null}
      {wanted.length > 0 ? null : events.length === 0 ? (
        <p className="faint">No event is stored.</p>
      ) : (
        <p className="row faint">
          No event of {events.length} has this in it.
          <button type="button" onClick={() => setPart('')}>
            Show all
          </button>
        </p>
      )}
      <ol className="plain events">
        {shown.map((event, index) => (
          <li key={`${event.seq} ${event.type} ${index}`}>
            <details open={isShort}>
              <summary>
                <span className="seq">{event.seq}</span> <code>{event.type}</code>{' '}
                <span className="faint">
                  <Moment at={event.at} />
                </span>
              </summary>
              <Json value={event.data} label={event.type} />
              {event.hash === undefined ? null : (
                <p className="hash">
                  <span className="faint">hash</span> <code>{event.hash}</code>
                </p>
              )}
            </details>
          </li>
        ))}
      </ol>
    </>
  )
}
