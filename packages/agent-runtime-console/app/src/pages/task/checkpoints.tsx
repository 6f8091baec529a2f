import type { RuntimeEvent } from '@ku0/agent-runtime-client'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../server/session.ts'
import { Asked } from '../../ui/asked.tsx'
import { many } from '../../ui/format.ts'
import { Json } from '../../ui/json.tsx'
import { Moment } from '../../ui/now.tsx'

/** The events of a task that say that it saved a checkpoint. */
export function checkpointsIn(events: readonly RuntimeEvent[]): readonly RuntimeEvent[] {
  return events.filter(({ type }) => type === 'checkpoint.created')
}

/** The newest checkpoint with its data, and when there were others: each replaces the one before. */
export function Checkpoints({
  taskId,
  events,
}: {
  readonly taskId: string
  readonly events: readonly RuntimeEvent[]
}) {
  const newest = useQuery({
    queryKey: ['task', taskId, 'checkpoint'],
    queryFn: async () => (await api().checkpoint(taskId)) ?? null,
  })
  return (
    <Asked query={newest} what="the checkpoint">
      {(checkpoint) => (
        <>
          {checkpoint === null ? (
            <p className="faint">The store holds its data no more.</p>
          ) : (
            <Json value={checkpoint.data} label="Newest checkpoint" />
          )}
          <p className="faint">The next attempt begins with the newest one. Each replaced the one before.</p>
          <ol className="plain events">
            {events.toReversed().map(({ seq, at, data }) => (
              <li key={seq}>
                <span className="seq">{seq}</span> <Moment at={at} />{' '}
                <span className="faint">{many((data as { size?: number }).size ?? 0, 'byte')}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </Asked>
  )
}
