import { api } from '../../server/session.ts'
import { Empty } from '../../ui/empty.tsx'
import { count } from '../../ui/format.ts'
import { PagedList } from '../../ui/paged.tsx'
import { taskColumns } from '../../ui/task-columns.tsx'

export function PipelinesPage() {
  return (
    <PagedList
      title="Pipelines"
      path="/pipelines"
      call="pipelines()"
      ask={async (page) => {
        const { pipelines: rows, cursor } = await api().pipelines(page)
        return { rows, cursor }
      }}
      empty={
        <Empty title="No pipeline has begun">
          <p>
            A program defines one with <code>definePipeline</code> and submits it: its stages receive events
            of others while those run.
          </p>
        </Empty>
      }
      columns={[
        ...taskColumns('Pipeline'),
        {
          name: 'Stages',
          show: ({ stages }) => `${stages.filter(({ ended }) => ended).length} of ${stages.length} ended`,
        },
        { name: 'Events', show: ({ seq }) => count(seq), isNumber: true },
        {
          name: 'Unread',
          show: ({ stages }) => count(unreadOf(stages.map(({ unread }) => unread))),
          isNumber: true,
        },
        {
          name: 'Room',
          show: ({ stages }) => {
            const full = [...new Set(stages.flatMap(({ heldBack }) => heldBack))]
            return full.length === 0 ? 'yes' : <span className="held">‖ none for {full.join(', ')}</span>
          },
        },
      ]}
    />
  )
}

function unreadOf(stages: readonly Readonly<Record<string, number>>[]): number {
  return stages.flatMap((unread) => Object.values(unread)).reduce((all, number) => all + number, 0)
}
