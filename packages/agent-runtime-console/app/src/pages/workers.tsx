import { Link } from '@tanstack/react-router'
import { useLiveQuery } from '../server/live.tsx'
import { api } from '../server/session.ts'
import { Asked } from '../ui/asked.tsx'
import { Copy, curl } from '../ui/copy.tsx'
import { Empty } from '../ui/empty.tsx'
import { shortId, some } from '../ui/format.ts'
import { useNow, When } from '../ui/now.tsx'
import { Page } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { STALE_MS } from './overview/needs.tsx'

/** Who runs tasks, and which. */
export function WorkersPage() {
  const workers = useLiveQuery(['workers'], () => api().workers())
  const leases = useLiveQuery(['leases'], () => api().liveLeases({ limit: 100 }))
  const now = useNow(5_000)
  return (
    <Page title="Workers" beside={<Copy text={curl('/workers')} label="Copy as cURL" />}>
      <Asked query={workers} what="the workers">
        {(all) =>
          all.length === 0 ? (
            <Empty title="No worker is registered">
              <p>
                Tasks are queued until a process runs their handlers. Start one:{' '}
                <code>agent-runtime worker FILE</code>, or a program with <code>createRuntime</code>.
              </p>
            </Empty>
          ) : (
            <Table
              caption="Workers"
              rows={all}
              keyOf={({ workerId }) => workerId}
              columns={[
                { name: 'Worker', show: ({ workerId }) => <code title={workerId}>{shortId(workerId)}</code> },
                {
                  name: 'State',
                  show: ({ state, lastSeenAt }) =>
                    now - lastSeenAt > STALE_MS ? <span className="bad-note">silent</span> : state,
                },
                {
                  name: 'Slots',
                  show: ({ inFlight, capacity }) => (
                    <>
                      <meter
                        min={0}
                        max={capacity}
                        value={inFlight}
                        aria-label={`${inFlight} of ${capacity} slots`}
                      />{' '}
                      {inFlight} of {capacity}
                    </>
                  ),
                },
                {
                  name: 'Types',
                  show: ({ types }) => <span title={types.join(', ')}>{some(types, 3)}</span>,
                },
                { name: 'Seen', show: ({ lastSeenAt }) => <When at={lastSeenAt} /> },
              ]}
            />
          )
        }
      </Asked>
      <h2>Leases</h2>
      <Asked query={leases} what="the leases">
        {({ leases: all, cursor }) =>
          all.length === 0 ? (
            <p className="faint">No task runs now.</p>
          ) : (
            <>
              <Table
                caption="Live leases"
                rows={all}
                keyOf={({ leaseId }) => leaseId}
                columns={[
                  {
                    name: 'Task',
                    show: ({ taskId }) => (
                      <Link to="/tasks/$taskId" params={{ taskId }} data-row>
                        <code title={taskId}>{shortId(taskId)}</code>
                      </Link>
                    ),
                  },
                  {
                    name: 'Worker',
                    show: ({ workerId }) => <code title={workerId}>{shortId(workerId)}</code>,
                    isExtra: true,
                  },
                  { name: 'Attempt', show: ({ attempt }) => attempt, isNumber: true },
                  { name: 'Since', show: ({ acquiredAt }) => <When at={acquiredAt} /> },
                  { name: 'Expires', show: ({ expiresAt }) => <When at={expiresAt} /> },
                ]}
              />
              {cursor === undefined ? null : <p className="faint">These are the newest; there are more.</p>}
            </>
          )
        }
      </Asked>
    </Page>
  )
}
