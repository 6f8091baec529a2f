import type { SwarmRecord } from '@ku0/agent-runtime-core'
import { Link, useSearch } from '@tanstack/react-router'
import { useLivePages } from '../../server/live-pages.ts'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { Asked } from '../../ui/asked.tsx'
import { CopyAs } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { amount, count } from '../../ui/format.ts'
import { More } from '../../ui/more.tsx'
import { When } from '../../ui/now.tsx'
import { Page } from '../../ui/page.tsx'
import { State } from '../../ui/state.tsx'
import { RowLink, Table } from '../../ui/table.tsx'
import { OneAgent } from './one-agent.tsx'

const PAGE = 100

/** Agents with their reputation, and swarms. */
export function AgentsPage() {
  const { agent } = useSearch({ from: '/agents' })
  const agents = useLivePages(['agents'], async (after) => {
    const rows = await api().evaluations.agents({ limit: PAGE, after })
    return { rows, cursor: rows.length === PAGE ? rows.at(-1)?.agentId : undefined }
  })
  const swarms = useLiveQuery(['swarms'], () => api().swarms(), { isSlow: true })
  return (
    <Page
      title="Agents"
      tab={agent ?? 'Agents'}
      beside={<CopyAs path="/agents" call="evaluations.agents()" json={agents.data} />}
    >
      {agent === undefined ? null : <OneAgent key={agent} agent={agent} />}
      <Asked query={agents} what="the agents">
        {(all) =>
          all.length === 0 ? (
            <Empty title="No agent was judged">
              <p>
                A program records a judgement with{' '}
                <code>runtime.evaluations.record('NAME', {'{ quality: 0.9 }'})</code>. Its agent then stands
                here, with its reputation over time.
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
          )
        }
      </Asked>
      <More pages={agents} what="agents" />
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
  {
    name: 'Swarm',
    show: ({ name }: SwarmRecord) => (
      <RowLink row={name}>
        <strong>{name}</strong>
      </RowLink>
    ),
  },
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
