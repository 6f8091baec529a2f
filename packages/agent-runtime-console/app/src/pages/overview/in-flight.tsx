import { Link } from '@tanstack/react-router'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { count, many, shortId } from '../../ui/format.ts'
import { rowHash } from '../../ui/table.tsx'
import { usePast, type View } from './past.ts'

const MOST_WORKERS = 6

/** The slots of the busiest workers. */
export function InFlight() {
  const { data } = useLiveQuery(['workers'], () => api().workers())
  if (data === undefined || data.length === 0) return null
  const busiest = data.toSorted((a, b) => b.inFlight - a.inFlight || (a.workerId < b.workerId ? -1 : 1))
  return (
    <section className="card pad listed" aria-labelledby="in-flight">
      <h2 id="in-flight">The busiest workers now</h2>
      <ul className="plain">
        {busiest.slice(0, MOST_WORKERS).map(({ workerId, inFlight, capacity, state }) => (
          <li key={workerId} className="row">
            <Link to="/workers" hash={rowHash(workerId)}>
              <code title={workerId}>{shortId(workerId)}</code>
            </Link>
            <span className="grow" />
            {state === 'draining' ? <span className="held">draining</span> : null}
            <meter min={0} max={Math.max(1, capacity)} value={inFlight} aria-label={`Slots of ${workerId}`} />
            <span className="slots">
              {inFlight} of {capacity}
            </span>
          </li>
        ))}
      </ul>
      {busiest.length > MOST_WORKERS ? (
        <p>
          <Link to="/workers">All {many(busiest.length, 'worker')}</Link>
        </p>
      ) : null}
    </section>
  )
}

/** Why submissions were refused in the time that the charts show. */
export function Refused({ total, view }: { readonly total: number; readonly view: View }) {
  const { data } = usePast(view)
  const reasons = new Map<string, number>()
  for (const { refused = {} } of data?.points ?? [])
    for (const [reason, number] of Object.entries(refused))
      reasons.set(reason, (reasons.get(reason) ?? 0) + number)
  const isCut = data?.points.some(({ refused }) => refused === undefined) ?? false
  return (
    <section className="card pad listed" aria-labelledby="refused">
      <h2 id="refused">Refused, by reason</h2>
      {total === 0 ? (
        <p className="faint">No submission was refused.</p>
      ) : data === undefined ? (
        <p className="faint">Counting…</p>
      ) : (
        <>
          {reasons.size === 0 ? <p className="faint">None in this time.</p> : null}
          <ul className="plain">
            {[...reasons]
              .toSorted(([, a], [, b]) => b - a)
              .map(([reason, number]) => (
                <li key={reason} className="row">
                  <code>{reason}</code>
                  <span className="grow" />
                  <strong>{count(number)}</strong>
                </li>
              ))}
          </ul>
          {isCut ? <p className="faint">Records of older ones are deleted.</p> : null}
          <p>
            <Link to="/tasks" search={{ states: 'rejected' }}>
              {many(total, 'refusal')} in all
            </Link>
          </p>
        </>
      )}
    </section>
  )
}
