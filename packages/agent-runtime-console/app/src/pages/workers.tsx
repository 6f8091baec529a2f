import { Link } from '@tanstack/react-router'
import type { WorkerStatus } from '@ku0/agent-runtime-core'
import { useMayOperate } from '../server/info.ts'
import { useLivePages } from '../server/live-pages.ts'
import { useLiveQuery } from '../server/live.tsx'
import { api } from '../server/session.ts'
import { useAct } from '../ui/act.tsx'
import { Asked } from '../ui/asked.tsx'
import { CopyAs } from '../ui/copy.tsx'
import { Empty } from '../ui/empty.tsx'
import { count, shortId, some } from '../ui/format.ts'
import { More } from '../ui/more.tsx'
import { When } from '../ui/now.tsx'
import { Page } from '../ui/page.tsx'
import { Confirmed } from '../ui/question.tsx'
import { RowLink, Table } from '../ui/table.tsx'

/** Who runs tasks, and which. */
export function WorkersPage() {
  const workers = useLiveQuery(['workers'], () => api().workers())
  const leases = useLivePages(['leases'], async (cursor) => {
    const page = await api().liveLeases({ limit: 100, cursor })
    return { rows: page.leases, cursor: page.cursor }
  })
  const stats = useLiveQuery(['queue stats'], () => api().stats())
  // The server goes on through tasks that nobody runs.
  const hasMoreLeases = leases.hasNextPage && (leases.data?.length ?? 0) < (stats.data?.running ?? Infinity)
  return (
    <Page title="Workers" beside={<CopyAs path="/workers" call="workers()" json={workers.data} />}>
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
                {
                  name: 'Worker',
                  show: ({ workerId }) => (
                    <RowLink row={workerId}>
                      <code title={workerId}>{shortId(workerId)}</code>
                    </RowLink>
                  ),
                },
                {
                  name: 'State',
                  show: ({ state }) =>
                    state === 'silent' ? <span className="bad-note">silent</span> : state,
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
                { name: 'Actions', show: (worker) => <WorkerAction worker={worker} /> },
              ]}
            />
          )
        }
      </Asked>
      <h2>Leases</h2>
      <Asked query={leases} what="the leases">
        {(all) =>
          all.length === 0 ? (
            <p className="faint">No task runs now. Each task that a worker runs has a lease here.</p>
          ) : (
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
                  show: ({ workerId }) => (
                    <RowLink row={workerId}>
                      <code title={workerId}>{shortId(workerId)}</code>
                    </RowLink>
                  ),
                  isExtra: true,
                },
                { name: 'Attempt', show: ({ attempt }) => attempt, isNumber: true },
                { name: 'Since', show: ({ acquiredAt }) => <When at={acquiredAt} /> },
                { name: 'Expires', show: ({ expiresAt }) => <When at={expiresAt} /> },
              ]}
            />
          )
        }
      </Asked>
      <More pages={{ ...leases, hasNextPage: hasMoreLeases }} what="leases">
        {stats.data === undefined
          ? null
          : `${count(leases.data?.length ?? 0)} of ${count(stats.data.running)}`}
      </More>
    </Page>
  )
}

/** Gives a worker no more tasks, or tasks again. */
function WorkerAction({ worker: { workerId, state, inFlight } }: { readonly worker: WorkerStatus }) {
  const { isBusy, act } = useAct()
  const mayOperate = useMayOperate()
  if (!mayOperate) return '–'
  const undrain = async () => {
    await api().undrainWorker(workerId)
    return `${shortId(workerId)} is given tasks again`
  }
  if (state === 'draining')
    return (
      <button type="button" disabled={isBusy} onClick={() => void act(undrain)}>
        Undrain<span className="hidden"> {workerId}</span>
      </button>
    )
  return (
    <Confirmed
      label={`Drain ${workerId}`}
      shown="Drain"
      title="Give this worker no more tasks?"
      yes="Drain the worker"
      isDangerous={false}
      action={async () => {
        await api().drainWorker(workerId)
        return `${shortId(workerId)} is given no more tasks`
      }}
    >
      <p>
        {inFlight === 0 ? 'It runs none now.' : `It runs ${inFlight} now, and ends them.`} Its process goes
        on, and you can undrain it.
      </p>
    </Confirmed>
  )
}
