import type { SwarmRecord } from '@ku0/agent-runtime-core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useLive, useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { Asked } from '../../ui/asked.tsx'
import { Copy, curl } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { amount, count } from '../../ui/format.ts'
import { When } from '../../ui/now.tsx'
import { Page } from '../../ui/page.tsx'
import { Problem } from '../../ui/problem.tsx'
import { State } from '../../ui/state.tsx'
import { Table } from '../../ui/table.tsx'
import { OneAgent } from './one-agent.tsx'

const PAGE = 100

/** Agents with their reputation, and swarms. */
export function AgentsPage() {
  const { agent } = useSearch({ from: '/agents' })
  const { isPaused } = useLive()
  const agents = useInfiniteQuery({
    queryKey: ['live', 'agents'],
    queryFn: ({ pageParam }) =>
      api().evaluations.agents({ limit: PAGE, ...(pageParam === '' ? {} : { after: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: (page) => (page.length === PAGE ? page.at(-1)?.agentId : undefined),
    refetchInterval: isPaused ? false : 10_000,
  })
  const swarms = useLiveQuery(['swarms'], () => api().swarms(), { isSlow: true })
  const all = agents.data?.pages.flat()
  return (
    <Page title="Agents" beside={<Copy text={curl('/agents')} label="Copy as cURL" />}>
      {agent === undefined ? null : <OneAgent key={agent} agent={agent} />}
      {agents.error === null ? null : (
        <Problem error={agents.error} what="the agents" onRetry={agents.refetch} />
      )}
      {all === undefined ? (
        agents.error === null ? (
          <p className="faint pad">Loading the agents…</p>
        ) : null
      ) : all.length === 0 ? (
        <Empty title="No agent was judged">
          <p>
            A program records a judgement with{' '}
            <code>runtime.evaluations.record('NAME', {'{ quality: 0.9 }'})</code>. Its agent then stands here,
            with its reputation over time.
          </p>
        </Empty>
      ) : (
        <Table
          caption="Agents"
          rows={all}
          keyOf={({ agentId }) => agentId}
          columns={[
            {
              name: 'Agent',
              show: ({ agentId }) => (
                <Link to="/agents" search={{ agent: agentId }} data-row>
                  <strong>{agentId}</strong>
                </Link>
              ),
            },
            {
              name: 'Reputation',
              show: ({ agentId, reputation }) => (
                <>
                  <meter min={0} max={1} value={reputation} aria-label={`Reputation of ${agentId}`} />{' '}
                  {amount(reputation)}
                </>
              ),
            },
            { name: 'Judgements', show: ({ evaluations }) => count(evaluations), isNumber: true },
            {
              name: 'Quality',
              show: ({ average }) => amount(average.quality),
              isNumber: true,
              isExtra: true,
            },
            { name: 'Last', show: ({ lastAt }) => <When at={lastAt} /> },
          ]}
        />
      )}
      {agents.hasNextPage ? (
        <p className="pad">
          <button
            type="button"
            disabled={agents.isFetchingNextPage}
            onClick={() => void agents.fetchNextPage()}
          >
            Show more
          </button>
        </p>
      ) : null}
      <h2>Swarms</h2>
      <Asked query={swarms} what="the swarms">
        {(found) =>
          found.length === 0 ? (
            <p className="faint">
              No swarm was made. A program makes one with <code>runtime.swarm</code>: agents that share a
              budget.
            </p>
          ) : (
            <Table caption="Swarms" rows={found} keyOf={({ name }) => name} columns={swarmColumns} />
          )
        }
      </Asked>
    </Page>
  )
}

const swarmColumns = [
  { name: 'Swarm', show: ({ name }: SwarmRecord) => <strong>{name}</strong> },
  {
    name: 'Circuit',
    show: ({ circuit }: SwarmRecord) => (
      <State state={circuit === 'closed' ? 'completed' : 'failed'} note={circuit} />
    ),
  },
  { name: 'Agents', show: ({ agents }: SwarmRecord) => count(agents.length), isNumber: true },
  { name: 'Spawned', show: ({ spawned }: SwarmRecord) => count(spawned), isNumber: true },
  {
    name: 'Pressure',
    show: ({ pressure: { mean, max } }: SwarmRecord) => `${amount(mean)}, at most ${amount(max)}`,
  },
]
