import type { ScheduleStatus } from '@ku0/agent-runtime-client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useMayOperate } from '../server/info.ts'
import { useLiveQuery } from '../server/live.tsx'
import { api } from '../server/session.ts'
import { useAct } from '../ui/act.tsx'
import { Asked } from '../ui/asked.tsx'
import { CopyAs } from '../ui/copy.tsx'
import { Empty } from '../ui/empty.tsx'
import { count, duration } from '../ui/format.ts'
import { Moment, When } from '../ui/now.tsx'
import { Page } from '../ui/page.tsx'
import { Confirmed } from '../ui/question.tsx'
import { RowLink, Table } from '../ui/table.tsx'

export function SchedulesPage() {
  const schedules = useLiveQuery(['schedules'], () => api().schedules.list())
  return (
    <Page
      title="Schedules"
      beside={<CopyAs path="/schedules" call="schedules.list()" json={schedules.data} />}
    >
      <Asked query={schedules} what="the schedules">
        {(all) =>
          all.length === 0 ? (
            <Empty title="No schedule is set">
              <p>
                A program sets one:{' '}
                <code>
                  runtime.schedules.put('nightly', {'{'} cron: '0 3 * * *' {'}'}, 'report', null)
                </code>
              </p>
            </Empty>
          ) : (
            <Table
              caption="Schedules"
              rows={all}
              keyOf={({ name }) => name}
              columns={[
                {
                  name: 'Name',
                  show: ({ name }) => (
                    <RowLink row={name}>
                      <strong>{name}</strong>
                    </RowLink>
                  ),
                },
                {
                  name: 'Task',
                  show: ({ task }) => (
                    <Link to="/tasks" search={{ types: task }}>
                      {task}
                    </Link>
                  ),
                },
                { name: 'When', show: timing },
                {
                  name: 'Next',
                  show: ({ paused, nextAt }) =>
                    paused ? 'paused' : nextAt === undefined ? 'never' : <When at={nextAt} />,
                },
                {
                  name: 'Then',
                  show: (schedule) => <NextTimes schedule={schedule} />,
                },
                {
                  name: 'Last',
                  show: ({ lastTaskId, lastAt }) =>
                    lastTaskId === undefined ? (
                      <When at={lastAt} />
                    ) : (
                      <Link to="/tasks/$taskId" params={{ taskId: lastTaskId }} data-row>
                        <When at={lastAt} />
                      </Link>
                    ),
                },
                { name: 'Runs', show: ({ runs }) => count(runs), isNumber: true },
                { name: 'Actions', show: (schedule) => <ScheduleActions schedule={schedule} /> },
              ]}
            />
          )
        }
      </Asked>
    </Page>
  )
}

/** The next five times, asked for when somebody wants to see them. */
function NextTimes({ schedule: { name, paused, nextAt } }: { readonly schedule: ScheduleStatus }) {
  const [isOpen, setOpen] = useState(false)
  const times = useQuery({
    queryKey: ['upcoming', name, nextAt],
    queryFn: () => api().schedules.upcoming(name, 5),
    enabled: isOpen,
  })
  if (paused || nextAt === undefined) return '–'
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        next five<span className="hidden"> runs of {name}</span>
      </summary>
      <Asked query={times} what="the times">
        {(all) => (
          <ol className="plain times">
            {all.map((at) => (
              <li key={at}>
                <Moment at={at} />
              </li>
            ))}
          </ol>
        )}
      </Asked>
    </details>
  )
}

function ScheduleActions({ schedule: { name, paused, task } }: { readonly schedule: ScheduleStatus }) {
  const { isBusy, act } = useAct()
  const mayOperate = useMayOperate()
  const trigger = async () => {
    const receipt = await api().schedules.trigger(name)
    return receipt.accepted ? `A run of ${name} was submitted` : receipt.message
  }
  const flip = async () => {
    await (paused ? api().schedules.resume(name) : api().schedules.pause(name))
    return paused ? `${name} goes on` : `${name} is paused`
  }
  if (!mayOperate) return '–'
  return (
    <div className="row wrap">
      <button type="button" disabled={isBusy} onClick={() => void act(trigger)}>
        Run now<span className="hidden"> {name}</span>
      </button>
      <button type="button" disabled={isBusy} onClick={() => void act(flip)}>
        {paused ? 'Resume' : 'Pause'}
        <span className="hidden"> {name}</span>
      </button>
      <Confirmed
        label={`Remove ${name}`}
        shown="Remove"
        title={`Remove the schedule ${name}?`}
        yes="Remove the schedule"
        action={async () => {
          await api().schedules.remove(name)
          return `${name} was removed`
        }}
      >
        <p>No further {task} is submitted for it. Tasks that it has submitted stay.</p>
      </Confirmed>
    </div>
  )
}

function timing({ timing: given }: ScheduleStatus): string {
  const { cron, timeZone, everyMs } = given as { cron?: string; timeZone?: string; everyMs?: number }
  if (everyMs !== undefined) return `every ${duration(everyMs)}`
  return timeZone === undefined || timeZone === 'UTC' ? `${cron}` : `${cron}, ${timeZone}`
}
