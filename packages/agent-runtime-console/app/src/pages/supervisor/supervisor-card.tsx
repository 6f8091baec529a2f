import type { SupervisorRecord } from '@ku0/agent-runtime-core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useMayOperate } from '../../server/info.ts'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { Asked } from '../../ui/asked.tsx'
import { count, duration } from '../../ui/format.ts'
import { useNow, When } from '../../ui/now.tsx'
import { State } from '../../ui/state.tsx'
import { ChildActions, StartChild } from './child-actions.tsx'

/** The supervisor that a task is: its children as a tree, and how many restarts it has left. */
export function SupervisorCard({ taskId, type }: { readonly taskId: string; readonly type: string }) {
  return (
    <section className="card drawing" aria-label="Supervisor">
      <h2 className="pad">Supervised</h2>
      <div className="tree pad">
        <Branch taskId={taskId} name={type} level={0} />
      </div>
    </section>
  )
}

/** A supervisor and what stands below it. */
function Branch({
  taskId,
  name,
  level,
  actions,
}: {
  readonly taskId: string
  readonly name: string
  readonly level: number
  /** What can be done with it as the child that it is. */
  readonly actions?: ReactNode
}) {
  const mayOperate = useMayOperate()
  const found = useLiveQuery(['supervisor', taskId], async () => {
    const [record, children] = await Promise.all([
      api().supervisors.which(taskId),
      api().list({ parent: taskId, states: ['waiting'], values: false, limit: 1_000 }),
    ])
    const supervising = children.tasks.flatMap((task) =>
      task.state === 'waiting' && task.waits.some(({ key }) => key.startsWith(SUPERVISES))
        ? [task.taskId]
        : [],
    )
    return { record, supervising: new Set(supervising) }
  })
  return (
    <Asked query={found} what="the children">
      {({ record, supervising }) => (
        <>
          <Root record={record} name={name}>
            {mayOperate && record.terms !== undefined ? <StartChild record={record} name={name} /> : null}
            {actions}
          </Root>
          {record.children.length === 0 ? (
            <p className="faint">It has no children.</p>
          ) : (
            <ul className="plain branches">
              {record.children.slice(0, MOST_CHILDREN).map((child) =>
                supervising.has(child.taskId) && level < MOST_LEVELS ? (
                  <li key={child.id}>
                    <Branch
                      taskId={child.taskId}
                      name={child.id}
                      level={level + 1}
                      actions={<ChildActions record={record} child={child} />}
                    />
                  </li>
                ) : (
                  <li key={child.id} className="leaf">
                    <span className="leaf-name">
                      <Link to="/tasks/$taskId" params={{ taskId: child.taskId }} data-row>
                        <strong>{child.id}</strong>
                      </Link>{' '}
                      <span className="faint">{child.type}</span>
                    </span>
                    <State state={child.state} />
                    <span className="faint">
                      {child.restart}
                      {child.attempt === 1 ? '' : ` · try ${child.attempt}`}
                    </span>
                    <ChildActions record={record} child={child} />
                  </li>
                ),
              )}
            </ul>
          )}
          {record.children.length > MOST_CHILDREN ? (
            <p>
              <Link to="/tasks" search={{ parent: taskId }}>
                See all {count(record.children.length)} in the list
              </Link>
            </p>
          ) : null}
        </>
      )}
    </Asked>
  )
}

function Root({
  record,
  name,
  children,
}: {
  readonly record: SupervisorRecord
  readonly name: string
  readonly children: ReactNode
}) {
  const { taskId, terms, restartedAt } = record
  const now = useNow(5_000)
  const recent = terms === undefined ? [] : restartedAt.filter((at) => now <= at + terms.periodMs)
  return (
    <div className="root">
      <strong>
        <Link to="/tasks/$taskId" params={{ taskId }}>
          {name}
        </Link>
      </strong>
      {terms === undefined ? (
        <span className="faint">It supervises no more.</span>
      ) : (
        <>
          <span title={strategies[terms.strategy]}>
            <code>{terms.strategy}</code> <span className="faint">{strategies[terms.strategy]}</span>
          </span>
          <span className={recent.length >= terms.maxRestarts ? 'held' : ''}>
            <meter
              min={0}
              max={terms.maxRestarts}
              value={recent.length}
              aria-label={`Restarts of ${name} within ${duration(terms.periodMs)}`}
            />{' '}
            {count(recent.length)} of {count(terms.maxRestarts)} restarts within {duration(terms.periodMs)}
            {recent.length >= terms.maxRestarts ? ': one failure more ends it' : ''}
          </span>
          {restartedAt.length === 0 ? null : (
            <span className="faint">
              last <When at={Math.max(...restartedAt)} />
            </span>
          )}
        </>
      )}
      {children}
    </div>
  )
}

const strategies: Readonly<Record<string, string>> = {
  one_for_one: 'the child that failed starts again',
  one_for_all: 'all children start again',
  rest_for_one: 'the child that failed and those after it start again',
}
/** The waits of a supervisor that supervises have keys of this kind. */
const SUPERVISES = '$ku0/supervisor/'
const MOST_CHILDREN = 200
const MOST_LEVELS = 6
