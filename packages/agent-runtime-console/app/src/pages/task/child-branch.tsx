import type { TaskStatus } from '@ku0/agent-runtime-client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../server/session.ts'
import { Asked } from '../../ui/asked.tsx'
import { count, shortId } from '../../ui/format.ts'
import { State } from '../../ui/state.tsx'

const MOST = 100

/** A child in the tree of a task; what stands below it is asked for when somebody opens it. */
export function ChildBranch({ task: { taskId, type, state } }: { readonly task: TaskStatus }) {
  const [isOpen, setOpen] = useState(false)
  const below = useQuery({
    queryKey: ['task', taskId, 'children'],
    queryFn: () => api().list({ parent: taskId, values: false, limit: MOST }),
    enabled: isOpen,
  })
  return (
    <li>
      <span className="leaf">
        <button
          type="button"
          className="twig"
          aria-expanded={isOpen}
          aria-label={`Children of ${taskId}`}
          onClick={() => setOpen(!isOpen)}
        >
          <span aria-hidden="true">{isOpen ? '−' : '+'}</span>
        </button>
        <State state={state} />
        <span className="leaf-name">
          <Link to="/tasks/$taskId" params={{ taskId }} data-row>
            <strong>{type}</strong>
          </Link>{' '}
          <code className="faint" title={taskId}>
            {shortId(taskId)}
          </code>
        </span>
      </span>
      {isOpen ? (
        <Asked query={below} what="its children">
          {({ tasks, cursor }) =>
            tasks.length === 0 ? (
              <p className="faint none-below">It has spawned no task.</p>
            ) : (
              <>
                <ul className="plain branches">
                  {tasks.map((child) => (
                    <ChildBranch key={child.taskId} task={child} />
                  ))}
                </ul>
                {cursor === undefined ? null : (
                  <p>
                    <Link to="/tasks" search={{ parent: taskId }}>
                      The newest {count(MOST)}; see all in the list
                    </Link>
                  </p>
                )}
              </>
            )
          }
        </Asked>
      ) : null}
    </li>
  )
}
