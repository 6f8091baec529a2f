import type { TaskDetails } from '@ku0/agent-runtime-client'
import { Link } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { api } from '../../server/session.ts'
import { amount, duration, shortId, some } from '../../ui/format.ts'
import { When } from '../../ui/now.tsx'
import { rowHash } from '../../ui/table.tsx'
import { labelText } from '../tasks/filter.ts'

/** Why it stands as it does, and what was given with it. */
export function Facts({
  details: { task },
  base,
}: {
  readonly details: TaskDetails
  /** The task of which this one is a fork or a retry. */
  readonly base: string | undefined
}) {
  const { taskId } = task
  const why = useQuery({ queryKey: ['task', taskId, 'explain'], queryFn: () => api().explain(taskId) })
  const labels = Object.entries(task.labels)
  const facts: readonly (readonly [name: string, value: ReactNode])[] = [
    ['Lane', task.lane],
    ['Attempt', `${task.attempt}${task.crashes === 0 ? '' : `, ${task.crashes} lost to crashes`}`],
    ['Steps', String(task.steps)],
    ['Submitted', <When key="at" at={task.submittedAt} />],
    ...('finishedAt' in task && task.startedAt !== undefined
      ? [['Took', duration(task.finishedAt - task.startedAt)] as const]
      : []),
    ...(task.state === 'running'
      ? [
          [
            'Held by',
            <Link key="worker" to="/workers" hash={rowHash(task.lease.workerId)} title={task.lease.workerId}>
              {shortId(task.lease.workerId)}
            </Link>,
          ] as const,
          ['Heartbeat', <When key="heartbeat" at={task.lease.lastHeartbeatAt} />] as const,
          ['Lease ends', <When key="lease" at={task.lease.expiresAt} />] as const,
        ]
      : []),
    ...(task.client === undefined
      ? []
      : [
          [
            'Client',
            <Link key="client" to="/tasks" search={{ client: task.client }}>
              {task.client}
            </Link>,
          ] as const,
        ]),
    ...(why.data?.agreement === undefined
      ? []
      : [['Agreement', `${why.data.agreement.name}, ${why.data.agreement.tier}`] as const]),
    ...(task.model === undefined ? [] : [['Model', task.model] as const]),
    ...(task.tools.length === 0 ? [] : [['Tools', some(task.tools, 4)] as const]),
    ...(labels.length === 0 ? [] : [['Labels', <Labels key="labels" labels={labels} />] as const]),
    ...(task.schedule === undefined
      ? []
      : [
          [
            'Schedule',
            <Link key="schedule" to="/schedules" hash={rowHash(task.schedule)}>
              {task.schedule}
            </Link>,
          ] as const,
        ]),
    ...(task.swarm === undefined
      ? []
      : [['Swarm', `${task.swarm}${task.agent === undefined ? '' : `, ${task.agent}`}`] as const]),
    ...(task.used === undefined ? [] : [['Used', usage(task.used)] as const]),
    ...(task.budget === undefined ? [] : [['Budget left', usage(task.budget.left)] as const]),
    ...(base === undefined
      ? []
      : [
          [
            'Began with',
            <Link key="base" to="/tasks/$taskId" params={{ taskId: base }}>
              {base}
            </Link>,
          ] as const,
        ]),
    ...(task.parent === undefined
      ? []
      : [
          [
            'Parent',
            <Link key="parent" to="/tasks/$taskId" params={{ taskId: task.parent }}>
              {task.parent}
            </Link>,
          ] as const,
        ]),
  ]
  return (
    <>
      {why.data === undefined ? null : <p className="why">{why.data.summary}</p>}
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  )
}

const MOST_LABELS = 4

/** Each leads to the tasks that have it. */
function Labels({ labels }: { readonly labels: readonly (readonly [name: string, value: string])[] }) {
  const more = labels.length - MOST_LABELS
  return (
    <>
      {labels.slice(0, MOST_LABELS).map(([name, value], at) => (
        <span key={name}>
          {at === 0 ? '' : ', '}
          <Link to="/tasks" search={{ label: labelText({ [name]: value }) }}>
            {name}={value}
          </Link>
        </span>
      ))}
      {more > 0 ? ` and ${more} more` : ''}
    </>
  )
}

function usage(sums: Readonly<Record<string, number | undefined>>): string {
  const used = Object.entries(sums).filter(([, value]) => value !== undefined && value !== 0)
  if (used.length === 0) return 'nothing'
  return used.map(([name, value]) => `${name} ${amount(value ?? 0)}`).join(', ')
}
