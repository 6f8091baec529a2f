import type { StoreStats } from '@ku0/agent-runtime-core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ask } from '../../server/ask.ts'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { useShownError } from '../../ui/asked.tsx'
import { count } from '../../ui/format.ts'
import { Problem } from '../../ui/problem.tsx'

interface Route {
  readonly route: string
  readonly circuit: string
}

/** What does not go on by itself. */
export function Needs({ stats: { totals, deleted } }: { readonly stats: StoreStats }) {
  const approvals = useLiveQuery(['approvals'], () => api().approvals.list({ limit: 100 }))
  const budgets = useLiveQuery(['budgets'], () => api().budgets.list({ limit: 100 }))
  const why = useLiveQuery(['queue'], () => api().explainQueue())
  const workers = useLiveQuery(['workers'], () => api().workers())
  const routes = useLiveQuery(['routes'], () => ask<{ routes: Route[] }>('GET', '/routes'), { isSlow: true })
  const asked = [approvals, budgets, why, workers, routes]
  const isWhole = asked.every(({ data }) => data !== undefined)
  const failure = asked.find((it) => it.error !== null)?.error ?? null
  // What was not answered is not nothing.
  const error = useShownError({ data: isWhole ? asked : undefined, error: failure }, 'needs')
  // All that ever failed, without those that retention has deleted: to count the tasks would look at each.
  const failed = totals.failed - deleted.failed
  const reason = (name: string) => why.data?.reasons.find((it) => it.reason === name)?.count ?? 0
  const stale = workers.data?.filter(({ state }) => state === 'silent').length ?? 0
  const open = routes.data?.routes.filter(({ circuit }) => circuit !== 'closed').length ?? 0
  const needs: readonly (readonly [
    many: number,
    /** There may be more than were counted. */
    isPart: boolean,
    one: string,
    more: string,
    link: (text: ReactNode) => ReactNode,
  ])[] = [
    [
      approvals.data?.approvals.length ?? 0,
      approvals.data?.cursor !== undefined,
      'approval waits for a verdict',
      'approvals wait for a verdict',
      (text) => <Link to="/approvals">{text}</Link>,
    ],
    [
      budgets.data?.budgets.length ?? 0,
      budgets.data?.cursor !== undefined,
      'budget asks whether to go on',
      'budgets ask whether to go on',
      (text) => <Link to="/limits">{text}</Link>,
    ],
    [
      reason('divergence'),
      false,
      'task is parked because its code took another path',
      'tasks are parked because their code took another path',
      // The list of tasks has no filter for them; the queue has the oldest one.
      (text) => <Link to="/queue">{text}</Link>,
    ],
    [
      reason('worker'),
      false,
      'task has no worker that runs its type',
      'tasks have no worker that runs their type',
      (text) => <Link to="/queue">{text}</Link>,
    ],
    [
      failed,
      false,
      'task has failed permanently',
      'tasks have failed permanently',
      (text) => <Link to="/dead-letters">{text}</Link>,
    ],
    [open, false, 'circuit is open', 'circuits are open', (text) => <Link to="/limits">{text}</Link>],
    [stale, false, 'worker is silent', 'workers are silent', (text) => <Link to="/workers">{text}</Link>],
  ]
  const some = needs.filter(([many]) => many > 0)
  return (
    <section className="card needs" aria-labelledby="needs">
      <h2 id="needs">What needs you</h2>
      {error === null ? null : (
        <Problem
          error={error}
          what="all that needs you"
          onRetry={() => Promise.all(asked.map((it) => it.refetch()))}
        />
      )}
      {some.length === 0 ? (
        error !== null ? null : isWhole ? (
          <p className="faint">Nothing: no approval, no budget and no failed task waits for somebody.</p>
        ) : (
          <p className="faint">Looking for it…</p>
        )
      ) : (
        <ul>
          {some.map(([many, isPart, one, more, link]) => (
            <li key={more}>
              {link(
                <>
                  <strong>
                    {count(many)}
                    {isPart ? '+' : ''}
                  </strong>{' '}
                  {many === 1 && !isPart ? one : more}
                </>,
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
