import { Link, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { Asked } from '../../ui/asked.tsx'
import { curl } from '../../ui/commands.ts'
import { Copy, CopyAs } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { count, duration, many, rate } from '../../ui/format.ts'
import { Page } from '../../ui/page.tsx'
import { Charts } from './charts.tsx'
import { InFlight, Refused } from './in-flight.tsx'
import { Needs } from './needs.tsx'
import { viewOf } from './past.ts'
import { keepSample, lately, quantile } from './samples.ts'

export function OverviewPage() {
  const view = viewOf(useSearch({ from: '/' }))
  const stats = useLiveQuery(['stats'], async () => {
    const found = await api().stats()
    return { stats: found, samples: keepSample(found, Date.now()) }
  })
  return (
    <Page title="Overview" beside={<CopyAs path="/stats" call="stats()" json={stats.data?.stats} />}>
      <Asked query={stats} what="the counters of the store">
        {({ stats: all, samples }) => {
          const { depth, running, waiting, delayed, totals } = all
          return totals.submitted === 0 ? (
            <FirstTask />
          ) : (
            <>
              <ul className="figures">
                <Figure to={{ states: 'queued' }} name="Queued" value={count(sum(Object.values(depth)))}>
                  {delayed === 0 ? 'due now' : `and ${count(delayed)} for later`}
                </Figure>
                <Figure to={{ states: 'running' }} name="Running" value={count(running)}>
                  <Slots />
                </Figure>
                <Figure to={{ states: 'waiting' }} name="Waiting" value={count(waiting)}>
                  for a time, a signal or somebody
                </Figure>
                <Figure to={{ states: 'completed' }} name="Completed" value={count(totals.completed)}>
                  {rate(lately(samples, 'completed', 60_000))} a second
                </Figure>
                <Figure to={{ states: 'failed' }} name="Failed" value={count(totals.failed)}>
                  {part(totals.failed, totals.completed + totals.failed)}
                </Figure>
                <WaitFigure />
              </ul>
              <Needs stats={all} />
              <Charts samples={samples} view={view} />
              <div className="beside">
                <InFlight />
                <Refused total={totals.rejected} view={view} />
              </div>
            </>
          )
        }}
      </Asked>
    </Page>
  )
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function part(of: number, all: number): string {
  if (all === 0) return 'nothing has ended yet'
  return `${((of * 100) / all).toFixed(of * 100 < all ? 2 : 1)} % of what has ended`
}

function Figure({
  name,
  value,
  to,
  children,
}: {
  readonly name: string
  readonly value: string
  readonly to?: Readonly<Record<string, string>>
  readonly children: ReactNode
}) {
  const inside = (
    <>
      <span className="figure-name">{name}</span>
      <span className="figure-value">{value}</span>
      <span className="figure-note">{children}</span>
    </>
  )
  return (
    <li className="card figure">
      {to === undefined ? (
        inside
      ) : (
        <Link to="/tasks" search={to}>
          {inside}
        </Link>
      )}
    </li>
  )
}

function Slots() {
  const { data } = useLiveQuery(['workers'], () => api().workers())
  if (data === undefined) return '…'
  if (data.length === 0) return 'no worker'
  const slots = sum(data.map(({ capacity }) => capacity))
  return `of ${many(slots, 'slot')}, ${many(data.length, 'worker')}`
}

/** From the submission to the first start, of the newest tasks that have started. */
function WaitFigure() {
  const { data, error } = useLiveQuery(
    ['waits'],
    async () => {
      const { tasks } = await api().list({
        states: ['running', 'waiting', 'completed', 'failed'],
        values: false,
        limit: 100,
      })
      return tasks.flatMap((task) =>
        'startedAt' in task && task.startedAt !== undefined ? [task.startedAt - task.submittedAt] : [],
      )
    },
    { isSlow: true },
  )
  const [half, most, nearly] = [0.5, 0.95, 0.99].map((below) => quantile(data ?? [], below))
  return (
    <Figure name="Wait for a start" value={half === undefined ? '–' : roundly(half)}>
      {most === undefined || nearly === undefined
        ? data !== undefined
          ? 'no task has started'
          : error === null
            ? 'looking for it…'
            : 'it could not be read'
        : `or less for half of the newest ${data?.length}; 95\u00A0% within ${whole(most)}, 99\u00A0% within ${whole(nearly)}`}
    </Figure>
  )
}

/** A duration that is not broken over two lines. */
function whole(ms: number): string {
  return duration(ms).replaceAll(' ', '\u00A0')
}

/** A duration that fits beside the other figures. */
function roundly(ms: number): string {
  if (ms < 60_000) return duration(ms)
  return ms < 3_600_000 ? `${(ms / 60_000).toFixed(1)} min` : `${(ms / 3_600_000).toFixed(1)} h`
}

function FirstTask() {
  const command = curl('/tasks', 'POST', { task: 'greet', input: 'Ada' })
  return (
    <Empty title="No task was submitted to this store yet">
      <p>Submit one from a program, from the command line, or like this:</p>
      <pre>{command}</pre>
      <p className="row">
        <Copy text={command} label="Copy the command" />
      </p>
    </Empty>
  )
}
