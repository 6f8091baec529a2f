import { Link } from '@tanstack/react-router'
import { useLiveQuery } from '../server/live.tsx'
import { api } from '../server/session.ts'
import { Asked } from '../ui/asked.tsx'
import { Copy, curl } from '../ui/copy.tsx'
import { Empty } from '../ui/empty.tsx'
import { count, duration } from '../ui/format.ts'
import { Page } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'

/** Why tasks wait. */
export function QueuePage() {
  const why = useLiveQuery(['queue'], () => api().explainQueue())
  const stats = useLiveQuery(['queue stats'], () => api().stats())
  return (
    <Page title="Why do tasks wait?" beside={<Copy text={curl('/queue')} label="Copy as cURL" />}>
      {stats.data === undefined ? null : (
        <p className="lanes">
          {Object.entries(stats.data.depth).map(([lane, depth]) => (
            <Link key={lane} to="/tasks" search={{ states: 'queued', lanes: lane }}>
              {lane} <strong>{count(depth)}</strong>
            </Link>
          ))}
          <span className="faint">for later {count(stats.data.delayed)}</span>
        </p>
      )}
      <Asked query={why} what="the queue">
        {({ queued, waiting, reasons }) =>
          reasons.length === 0 ? (
            <Empty title="No task waits">
              <p>Whatever is submitted now starts at once, if a worker runs its type.</p>
            </Empty>
          ) : (
            <>
              <p>
                Queued: {count(queued)}. Started, and waiting: {count(waiting)}.
              </p>
              <Table
                caption="Why tasks wait"
                rows={reasons}
                keyOf={({ reason, state }) => `${reason} ${state}`}
                columns={[
                  { name: 'They wait for', show: ({ reason }) => sentence(reason) },
                  { name: 'Tasks', show: ({ count: many }) => count(many), isNumber: true },
                  { name: 'State', show: ({ state }) => state },
                  {
                    name: 'The oldest',
                    show: ({ oldest }) => (
                      <Link
                        to="/tasks/$taskId"
                        params={{ taskId: oldest.taskId }}
                        search={{ show: 'explain' }}
                        data-row
                      >
                        {duration(oldest.ageMs)} old
                      </Link>
                    ),
                  },
                ]}
              />
            </>
          )
        }
      </Asked>
    </Page>
  )
}

const sentences: Readonly<Record<string, string>> = {
  delay: 'their time: they were submitted for later',
  slot: 'a free slot, and nothing else',
  worker: 'a worker that runs their type: none is alive',
  paused: 'the end of a pause of their type or lane',
  suspect: 'another task that crashed workers to run first, alone',
  approval: 'a verdict',
  signal: 'a signal',
  timer: 'a timer',
  children: 'their children',
  budget: 'an answer, since their budget asks',
  divergence: 'somebody, since their code took another path than their history',
}

function sentence(reason: string): string {
  if (reason.startsWith('quota:')) return `room in the quota ${reason.slice('quota:'.length)}`
  return sentences[reason] ?? reason
}
