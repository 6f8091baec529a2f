import type { PipelineRecord } from '@ku0/agent-runtime-core'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { Asked } from '../../ui/asked.tsx'
import { count } from '../../ui/format.ts'
import { Table } from '../../ui/table.tsx'
import { DrawnPipeline } from './drawn.tsx'

/** The pipeline that a task is: its stages drawn, and its events by type. */
export function PipelineCard({ taskId }: { readonly taskId: string }) {
  const pipeline = useLiveQuery(['pipeline', taskId], () => api().pipeline(taskId).status())
  return (
    <section className="card drawing" aria-label="Pipeline">
      <Asked query={pipeline} what="the stages">
        {(found) => (
          <>
            <h2 className="pad">
              Stages{' '}
              <span className="faint">
                · {count(found.seq)} {found.seq === 1 ? 'event' : 'events'}, at most{' '}
                {count(found.terms.maxUnread)} unread of a type
              </span>
            </h2>
            <DrawnPipeline pipeline={found} />
            <details className="pad">
              <summary>Events by type</summary>
              <EventTypes pipeline={found} />
            </details>
          </>
        )}
      </Asked>
    </section>
  )
}

function EventTypes({ pipeline: { terms, stages, published } }: { readonly pipeline: PipelineRecord }) {
  const types = [...new Set(terms.stages.flatMap(({ publishes }) => publishes))]
  const publishers = (type: string) =>
    terms.stages.flatMap(({ stage, publishes }) => (publishes.includes(type) ? [stage] : []))
  const readers = (type: string) =>
    stages.flatMap(({ stage, taken, unread, ended }, at) => {
      if (terms.stages[at]?.subscribes.includes(type) !== true) return []
      const left = unread[type] ?? 0
      const rest = ended ? ', ended' : left === 0 ? '' : `, ${count(left)} unread`
      return [`${stage} (${count(taken[type] ?? 0)}${rest})`]
    })
  return (
    <Table
      caption="Events by type"
      rows={types}
      keyOf={(type) => type}
      columns={[
        { name: 'Type', show: (type) => <strong>{type}</strong> },
        { name: 'Published', show: (type) => count(published[type] ?? 0), isNumber: true },
        { name: 'From', show: (type) => publishers(type).join(', ') },
        { name: 'To', show: (type) => readers(type).join(', ') || 'nobody' },
        {
          name: 'Room',
          show: (type) =>
            stages.some(({ heldBack }) => heldBack.includes(type)) ? (
              <span className="held">‖ no room</span>
            ) : (
              'yes'
            ),
        },
      ]}
    />
  )
}
