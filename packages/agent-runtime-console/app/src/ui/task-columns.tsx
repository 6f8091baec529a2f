import type { TaskState } from '@ku0/agent-runtime-core'
import { Link } from '@tanstack/react-router'
import { shortId } from './format.ts'
import { State } from './state.tsx'
import type { Column } from './table.tsx'

/** The first columns of a list of tasks of some kind: the type, which leads to the task, its id and its state. */
export function taskColumns<
  Row extends { readonly taskId: string; readonly type: string; readonly state: TaskState },
>(kind: string): readonly Column<Row>[] {
  return [
    {
      name: kind,
      show: ({ taskId, type }) => (
        <Link to="/tasks/$taskId" params={{ taskId }} data-row>
          <strong>{type}</strong>
        </Link>
      ),
    },
    { name: 'Id', show: ({ taskId }) => <code title={taskId}>{shortId(taskId)}</code> },
    { name: 'State', show: ({ state }) => <State state={state} /> },
  ]
}
