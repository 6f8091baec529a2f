import type { ExecutionLease } from '@ku0/agent-runtime-core'
import { Link } from '@tanstack/react-router'
import { duration, shortId } from '../../ui/format.ts'
import { Json } from '../../ui/json.tsx'
import { Moment, useNow, When } from '../../ui/now.tsx'
import { rowHash } from '../../ui/table.tsx'

/** The last leases of a task, the newest first: who held it, until when, and how it ended. */
export function Leases({
  leases,
  hasOlder,
}: {
  readonly leases: readonly ExecutionLease[]
  /** Whether others came before these. */
  readonly hasOlder: boolean
}) {
  if (leases.length === 0)
    return <p className="faint">No worker has held it. A worker that starts the task gets a lease.</p>
  return (
    <>
      <p className="faint">
        A worker runs the task while it holds a lease. Heartbeats renew it; once it has expired another worker
        may take the task.
      </p>
      <ol className="plain leases" aria-label="Leases">
        {leases
          .toSorted((a, b) => b.fencingToken - a.fencingToken)
          .map((lease) => (
            <li key={lease.leaseId}>
              <OneLease lease={lease} />
            </li>
          ))}
      </ol>
      {hasOlder ? <p className="faint">Older leases are not shown. The events have them.</p> : null}
    </>
  )
}

function OneLease({ lease }: { readonly lease: ExecutionLease }) {
  const { workerId, attempt, fencingToken, acquiredAt, expiresAt, lastHeartbeatAt, endedAt, endReason } =
    lease
  const now = useNow(5_000)
  const isLive = endedAt === undefined
  return (
    <>
      <h3>
        Lease {fencingToken}, attempt {attempt}{' '}
        {isLive ? (
          <span className={expiresAt <= now ? 'bad-note' : 'faint'}>
            · {expiresAt <= now ? 'expired' : 'live'}
          </span>
        ) : (
          <span className="faint">· {endReason ?? lease.status}</span>
        )}
      </h3>
      <dl className="facts">
        <div>
          <dt>Held by</dt>
          <dd>
            <Link to="/workers" hash={rowHash(workerId)} title={workerId}>
              <code>{shortId(workerId)}</code>
            </Link>
          </dd>
        </div>
        <div>
          <dt>Acquired</dt>
          <dd>
            <Moment at={acquiredAt} />
          </dd>
        </div>
        <div>
          <dt>Last heartbeat</dt>
          <dd>{isLive ? <When at={lastHeartbeatAt} /> : <Moment at={lastHeartbeatAt} />}</dd>
        </div>
        <div>
          <dt>{isLive ? 'Expires' : 'Held for'}</dt>
          <dd>{isLive ? <When at={expiresAt} /> : duration(endedAt - acquiredAt)}</dd>
        </div>
        <div>
          <dt>Lease id</dt>
          <dd>
            <code title={lease.leaseId}>{lease.leaseId}</code>
          </dd>
        </div>
      </dl>
      {lease.abort === undefined ? null : (
        <p>
          It was asked to stop <When at={lease.abort.requestedAt} />.{' '}
          {lease.abort.acknowledgedAt === undefined
            ? 'Its worker has not answered yet.'
            : `Its worker stopped after ${duration(lease.abort.acknowledgedAt - lease.abort.requestedAt)}.`}
        </p>
      )}
      {lease.progress === undefined ? null : (
        <>
          <p className="faint">
            Reported <When at={lease.progressAt} />
          </p>
          <Json value={lease.progress} label={`Progress of lease ${fencingToken}`} />
        </>
      )}
    </>
  )
}
