import { dimensions } from './dimensions.ts'
import type { EvaluationRecord } from '@ku0/agent-runtime-core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useLivePages } from '../../server/live-pages.ts'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { Asked } from '../../ui/asked.tsx'
import { amount, shortId } from '../../ui/format.ts'
import { More } from '../../ui/more.tsx'
import { When } from '../../ui/now.tsx'
import { Table } from '../../ui/table.tsx'
import { Chart } from '../overview/chart.tsx'

const MOST = 200

/** An agent's reputation over time, its judgements, and who is like it. */
export function OneAgent({ agent }: { readonly agent: string }) {
  const judged = useLivePages(['judged', agent], async (before) => {
    const page = { limit: MOST, ...(before === undefined ? {} : { before: Number(before) }) }
    const found = await api().evaluations.history(agent, page)
    const rows = found as unknown as readonly EvaluationRecord[]
    return { rows, cursor: rows.length === MOST ? rows.at(-1)?.seq.toString() : undefined }
  })
  const [shown, setShown] = useState(20)
  // An agent that nobody has judged has neither.
  const isEnabled = (judged.data?.length ?? 0) > 0
  const drift = useLiveQuery(['drift', agent], async () => (await api().evaluations.drift(agent)) ?? null, {
    isEnabled,
  })
  const similar = useQuery({
    queryKey: ['similar', agent],
    queryFn: () => api().evaluations.similar(agent, { limit: 3 }),
    enabled: isEnabled,
    retry: false,
  })
  const oldest = useMemo(() => judged.data?.toReversed() ?? [], [judged.data])
  const at = useMemo(() => oldest.map((it) => it.at), [oldest])
  const lines = useMemo(
    () => [
      { name: 'reputation', color: 'running', values: oldest.map(({ reputation }) => reputation) },
      { name: 'each judgement', color: 'batch', values: oldest.map(({ composite }) => composite) },
    ],
    [oldest],
  )
  return (
    <section aria-label={agent} className="one-agent">
      <h2>{agent}</h2>
      <Asked query={judged} what="the judgements">
        {(newest) =>
          newest.length === 0 ? (
            <p className="faint">No judgement of {agent} is kept.</p>
          ) : (
            <>
              {drift.data?.drifted === true ? (
                <p className="held">
                  Its latest work differs from its earlier work by {amount(drift.data.distance)}.
                </p>
              ) : null}
              <Chart title="Reputation over time" at={at} lines={lines} />
              {similar.data === undefined || similar.data.length === 0 ? null : (
                <p>
                  Most like{' '}
                  {similar.data.map((it, index) => (
                    <span key={String(it['agentId'])}>
                      {index === 0 ? '' : ', '}
                      <Link to="/agents" search={{ agent: String(it['agentId']) }}>
                        {String(it['agentId'])}
                      </Link>
                    </span>
                  ))}
                  .
                </p>
              )}
              <Table
                caption={`Judgements of ${agent}`}
                rows={newest.slice(0, shown)}
                keyOf={({ seq }) => String(seq)}
                columns={columns}
              />
              <More
                what="judgements"
                pages={{
                  hasNextPage: judged.hasNextPage || shown < newest.length,
                  isFetchingNextPage: judged.isFetchingNextPage,
                  fetchNextPage() {
                    setShown(shown + MOST)
                    if (shown + MOST > newest.length && judged.hasNextPage) judged.fetchNextPage()
                  },
                }}
              />
              <p>
                <Link to="/agents">Close {agent}</Link>
              </p>
            </>
          )
        }
      </Asked>
    </section>
  )
}

const columns = [
  { name: 'When', show: ({ at }: EvaluationRecord) => <When at={at} /> },
  { name: 'Score', show: ({ composite }: EvaluationRecord) => amount(composite), isNumber: true },
  { name: 'Reputation', show: ({ reputation }: EvaluationRecord) => amount(reputation), isNumber: true },
  ...dimensions.map((dimension) => ({
    name: dimension.charAt(0).toUpperCase() + dimension.slice(1),
    show: ({ scores, missing }: EvaluationRecord) =>
      missing.includes(dimension) ? '–' : amount(scores[dimension]),
    isNumber: true,
    isExtra: true,
  })),
  {
    name: 'Task',
    show: ({ taskId }: EvaluationRecord) =>
      taskId === undefined ? (
        '–'
      ) : (
        <Link to="/tasks/$taskId" params={{ taskId }} data-row>
          <code title={taskId}>{shortId(taskId)}</code>
        </Link>
      ),
  },
]
