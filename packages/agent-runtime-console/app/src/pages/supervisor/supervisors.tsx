import { api } from '../../server/session.ts'
import { Empty } from '../../ui/empty.tsx'
import { count, duration } from '../../ui/format.ts'
import { PagedList } from '../../ui/paged.tsx'
import { taskColumns } from '../../ui/task-columns.tsx'

export function SupervisorsPage() {
  return (
    <PagedList
      title="Supervisors"
      path="/supervisors"
      call="supervisors.list()"
      ask={async (page) => {
        const { supervisors: rows, cursor } = await api().supervisors.list(page)
        return { rows, cursor }
      }}
      empty={
        <Empty title="No supervisor has begun">
          <p>
            A program defines one with <code>defineSupervisor</code> and submits it: it starts its children,
            and starts one again that failed.
          </p>
        </Empty>
      }
      columns={[
        ...taskColumns('Supervisor'),
        { name: 'Strategy', show: ({ terms }) => terms?.strategy ?? 'supervises no more' },
        {
          name: 'Children',
          show: ({ children: { open, total } }) => `${count(open)} of ${count(total)} open`,
        },
        { name: 'Running', show: ({ children }) => count(children.running), isNumber: true },
        {
          name: 'Restarts',
          show: ({ terms, restarts }) =>
            terms === undefined ? null : (
              <span className={restarts >= terms.maxRestarts ? 'held' : ''}>
                {count(restarts)} of {count(terms.maxRestarts)} in {duration(terms.periodMs)}
              </span>
            ),
        },
      ]}
    />
  )
}
