import { Link } from '@tanstack/react-router'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { count, many, shortId } from '../../ui/format.ts'

const MOST_WORKERS = 6
const MOST_REFUSED = 100

/** The slots of the busiest workers. */
export function InFlight() {
  const { data } = useLiveQuery(['workers'], () => api().workers())
  if (data === undefined || data.length === 0) return null
  const busiest = data.toSorted((a, b) => b.inFlight - a.inFlight || (a.workerId < b.workerId ? -1 : 1))
  return (
    <section className="card pad listed" aria-labelledby="in-flight">
      <h2 id="in-flight">In flight by worker</h2>
      <ul className="plain">
        {busiest.slice(0, MOST_WORKERS).map(({ workerId, inFlight, capacity, state }) => (
          <li key={workerId} className="row">
            <code title={workerId}>{shortId(workerId)}</code>
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

/** Why the newest submissions that were refused were refused. */
export function Refused({ total }: { readonly total: number }) {
  const { data } = useLiveQuery(
    ['refused'],
    async () => {
      const { tasks } = await api().list({ states: ['rejected'], limit: MOST_REFUSED })
      const reasons = new Map<string, number>()
      for (const task of tasks)
        if (task.state === 'rejected') reasons.set(task.reason, (reasons.get(task.reason) ?? 0) + 1)
      return { newest: tasks.length, reasons: [...reasons].toSorted(([, a], [, b]) => b - a) }
    },
    { isSlow: true, isEnabled: total > 0 },
  )
  return (
    <section className="card pad listed" aria-labelledby="refused">
      <h2 id="refused">Refused, by reason</h2>
      {total === 0 ? (
        <p className="faint">No submission was refused.</p>
      ) : data === undefined ? (
        <p className="faint">Counting…</p>
      ) : (
        <>
          <ul className="plain">
            {data.reasons.map(([reason, number]) => (
              <li key={reason} className="row">
                <code>{reason}</code>
                <span className="grow" />
                <strong>{count(number)}</strong>
              </li>
            ))}
          </ul>
          <p>
            <Link to="/tasks" search={{ states: 'rejected' }}>
              {data.newest < total
                ? `The newest ${count(data.newest)} of ${count(total)}`
                : many(total, 'refusal')}
            </Link>
          </p>
        </>
      )}
    </section>
  )
}
