import type { TaskDetails, TaskStatus } from '@ku0/agent-runtime-client'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { ArrowHead } from '../../ui/arrow-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { count } from '../../ui/format.ts'
import { State } from '../../ui/state.tsx'
import { arrowBetween, NODE, nodesOf, placesOf } from './graph-layout.ts'

const MOST_NODES = 200
/** The type of the task that coordinates a graph. */
export const GRAPH_TYPE = '$ku0/graph'

/** A graph that was submitted as data: its nodes as boxes, with an arrow from each to those that wait for it. */
export function GraphCard({ details: { task } }: { readonly details: TaskDetails }) {
  const { taskId, input } = task
  const nodes = useMemo(() => nodesOf(input), [input])
  const { places, width, height } = useMemo(() => placesOf(nodes), [nodes])
  const children = useLiveQuery(['graph', taskId], async () => {
    const [events, { tasks }] = await Promise.all([
      api().history(taskId, { limit: 1_000 }),
      api().list({ parent: taskId, values: false, limit: 1_000 }),
    ])
    const byId = new Map(tasks.map((child) => [child.taskId, child]))
    const byNode = new Map<string, TaskStatus>()
    for (const { type, data } of events.events) {
      const child = type.startsWith('child.') ? byId.get(String(data['taskId'])) : undefined
      if (child !== undefined) byNode.set(String(data['key']), child)
    }
    return byNode
  })
  if (nodes.length === 0) return null
  if (nodes.length > MOST_NODES)
    return (
      <p className="faint">
        The graph has {count(nodes.length)} nodes, more than are drawn:{' '}
        <Link to="/tasks" search={{ parent: taskId }}>
          see them in the list
        </Link>
        .
      </p>
    )
  return (
    <section className="card drawing" aria-label="Graph">
      <h2 className="pad">Graph</h2>
      {children.error === null ? null : (
        <Problem error={children.error} what="the nodes" onRetry={children.refetch} />
      )}
      <div className="drawn" tabIndex={0} role="group" aria-label="Nodes of the graph">
        <div className="drawn-area" style={{ width, height }}>
          <svg width={width} height={height} aria-hidden="true">
            <defs>
              <ArrowHead id="node-arrow" look="arrow" />
            </defs>
            {places.flatMap((to) =>
              to.node.after.flatMap((name) => {
                const from = places.find(({ node }) => node.name === name)
                return from === undefined ? (
                  []
                ) : (
                  <path
                    key={`${name} ${to.node.name}`}
                    d={arrowBetween(from, to)}
                    className="edge"
                    markerEnd="url(#node-arrow)"
                  />
                )
              }),
            )}
          </svg>
          <ol className="plain">
            {places.map(({ node, x, y }) => {
              const child = children.data?.get(node.name)
              return (
                <li
                  key={node.name}
                  className="stage"
                  style={{ left: x, top: y, width: NODE.width, height: NODE.height }}
                >
                  <strong title={`${node.name}: ${node.task}`}>
                    {child === undefined ? (
                      node.name
                    ) : (
                      <Link to="/tasks/$taskId" params={{ taskId: child.taskId }} data-row>
                        {node.name}
                      </Link>
                    )}
                  </strong>
                  <span>
                    {child === undefined ? (
                      <span className="faint">not started</span>
                    ) : (
                      <State state={child.state} />
                    )}
                  </span>
                </li>
              )
            })}
          </ol>
        </div>
      </div>
    </section>
  )
}
