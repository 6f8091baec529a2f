import type { SupervisorRecord } from '@ku0/agent-runtime-core'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useMayOperate } from '../../server/info.ts'
import { api } from '../../server/session.ts'
import { JsonField, parsed } from '../../ui/json-field.tsx'
import { Confirmed, FormDialog, useQuestion } from '../../ui/question.tsx'

type Child = SupervisorRecord['children'][number]

/** Stops a child of a supervisor that has not ended, or starts one again. Each asks once. */
export function ChildActions({
  record: { taskId: supervisor, terms },
  child: { id, type, state },
}: {
  readonly record: SupervisorRecord
  readonly child: Child
}) {
  const mayOperate = useMayOperate()
  if (!mayOperate || terms === undefined) return null
  const isOpen = state === 'queued' || state === 'running' || state === 'waiting'
  const again = async (): Promise<ReactNode> => {
    // Only a child that has ended can be started again.
    if (isOpen) await api().supervisors.stop(supervisor, id)
    const { taskId } = await api().supervisors.restart(supervisor, id)
    return (
      <>
        {id} runs as the new task{' '}
        <Link to="/tasks/$taskId" params={{ taskId }}>
          {taskId}
        </Link>
      </>
    )
  }
  return (
    <span className="row child-actions">
      {isOpen ? (
        <Confirmed
          label={`Stop ${id}`}
          shown="Stop"
          title={`Stop the child ${id}?`}
          yes="Stop the child"
          action={async () => {
            const { stopped, state: now } = await api().supervisors.stop(supervisor, id)
            return stopped ? `${id} was stopped` : `${id} had ended before: it is ${now}`
          }}
        >
          <p>
            Its task is canceled, and so are the tasks below it. The supervisor does not start it again; you
            can, here.
          </p>
        </Confirmed>
      ) : null}
      <Confirmed
        label={`Restart ${id}`}
        shown="Restart"
        title={`Start the child ${id} again?`}
        yes={isOpen ? 'Stop it, and start it again' : 'Start it again'}
        isDangerous={isOpen}
        action={again}
      >
        <p>
          {isOpen ? 'Its task is canceled. ' : ''}A new {type} with the same input takes its place. It does
          not count as a restart of the supervisor.
        </p>
      </Confirmed>
    </span>
  )
}

/** Starts one more child. */
export function StartChild({
  record: { taskId: supervisor, children },
  name,
}: {
  readonly record: SupervisorRecord
  readonly name: string
}) {
  const question = useQuestion()
  const [id, setId] = useState('')
  const [type, setType] = useState(children[0]?.type ?? '')
  const [restart, setRestart] = useState<Child['restart']>('transient')
  const [text, setText] = useState('')
  const input = parsed(text)
  const start = async (): Promise<ReactNode> => {
    await api().supervisors.start(supervisor, id, type, input.value ?? null, { restart })
    return `${id} was started`
  }
  return (
    <>
      <button type="button" onClick={question.open}>
        Start a child…<span className="hidden"> of {name}</span>
      </button>
      {question.isOpen ? (
        <FormDialog
          question={question}
          title={`Start one more child of ${name}`}
          submit="Start"
          isDisabled={!input.isGood}
          action={start}
        >
          <label className="field">
            <span>Its name among the children</span>
            <input required autoFocus value={id} onChange={({ target }) => setId(target.value)} />
          </label>
          <label className="field">
            <span>Task type</span>
            <input required value={type} onChange={({ target }) => setType(target.value)} />
          </label>
          <label className="field">
            <span>When it starts again</span>
            <select
              value={restart}
              onChange={({ target }) =>
                setRestart(restarts.find(([it]) => it === target.value)?.[0] ?? 'transient')
              }
            >
              {restarts.map(([it, when]) => (
                <option key={it} value={it}>
                  {it}: {when}
                </option>
              ))}
            </select>
          </label>
          <JsonField
            label="Input, as JSON; empty for null"
            text={text}
            onChange={setText}
            isGood={input.isGood}
          />
        </FormDialog>
      ) : null}
    </>
  )
}

const restarts = [
  ['transient', 'after a failure'],
  ['permanent', 'after every end'],
  ['temporary', 'never'],
] as const satisfies readonly (readonly [Child['restart'], string])[]
