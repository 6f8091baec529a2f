import type { TaskDetails } from '@ku0/agent-runtime-client'
import { Link, useRouter } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { ask } from '../../server/ask.ts'
import { useInfo, useMayOperate } from '../../server/info.ts'
import { api } from '../../server/session.ts'
import { useAct } from '../../ui/act.tsx'
import { count } from '../../ui/format.ts'
import { JsonField, parsed } from '../../ui/json-field.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Confirmed, FormDialog, useQuestion } from '../../ui/question.tsx'
import { isPipeline } from './is-pipeline.ts'
import { useAllSteps } from './use-steps.ts'

/** What can be done with a task in its state. */
export function Actions({ details }: { readonly details: TaskDetails }) {
  const { task, steps, stepsCursor } = details
  const { taskId, state } = task
  // The task counts also those that a rejection has made void.
  const kept = stepsCursor === undefined ? steps.length : task.steps
  const router = useRouter()
  const mayOperate = useMayOperate()
  const isOpen = state === 'queued' || state === 'running' || state === 'waiting'
  const isParked = task.state === 'waiting' && task.divergence !== undefined
  /** Shows another task, and links to it. Whoever has left this task by the time of the answer stays where they are. */
  const open = async (other: string): Promise<ReactNode> => {
    const at = router.state.matches.at(-1)
    if (at?.routeId === '/tasks/$taskId' && at.params.taskId === taskId)
      await router.navigate({ to: '/tasks/$taskId', params: { taskId: other } })
    return (
      <Link to="/tasks/$taskId" params={{ taskId: other }}>
        {other}
      </Link>
    )
  }
  if (!mayOperate) return null
  // The log of a pipeline belongs to it: it is submitted again instead.
  const mayComeAgain = !isPipeline(details)
  return (
    <>
      {isParked ? <Resume taskId={taskId} /> : null}
      {task.state === 'waiting' && task.waitingFor === 'approval' ? (
        <Link to="/approvals" search={{ request: taskId }} className="button primary">
          Answer
        </Link>
      ) : null}
      {isOpen ? <SignalButton details={details} /> : null}
      {mayComeAgain && (state === 'failed' || state === 'canceled' || isParked) ? (
        <Confirmed
          label="Retry"
          title="Submit this task again?"
          yes="Retry"
          isDangerous={false}
          action={async () => {
            const receipt = await api().retry(taskId)
            if (!receipt.accepted) throw new Error(receipt.message)
            const link = await open(receipt.taskId)
            return receipt.deduplicated ? (
              <>The task was retried before, as {link}</>
            ) : (
              <>The task was submitted again, as {link}</>
            )
          }}
        >
          <p>
            {kept === 0
              ? 'It becomes a new task, which begins anew: no step was completed.'
              : `It becomes a new task, which keeps ${kept === 1 ? 'the completed step' : `${kept === steps.length ? 'the' : 'up to'} ${count(kept)} completed steps`} and goes on from there.`}
          </p>
        </Confirmed>
      ) : null}
      {steps.length > 0 && mayComeAgain ? <ForkButton details={details} onFork={open} /> : null}
      <Verify taskId={taskId} />
      {isOpen ? (
        <Confirmed
          label="Cancel"
          title="Cancel this task and its children?"
          yes="Cancel the task"
          action={async () => {
            const isCanceled = await api().cancel(taskId, { reason: 'canceled in the console' })
            return isCanceled ? 'The task was canceled' : 'It had ended already'
          }}
        >
          <p>
            A running handler gets the signal to stop. Steps that were completed stay recorded, and a retry
            goes on after them.
          </p>
        </Confirmed>
      ) : null}
    </>
  )
}

function Resume({ taskId }: { readonly taskId: string }) {
  const { isBusy, act } = useAct()
  const resume = async () => {
    await api().resume(taskId)
    return 'The task is queued again'
  }
  return (
    <button type="button" className="primary" disabled={isBusy} onClick={() => void act(resume)}>
      Resume
    </button>
  )
}

function Verify({ taskId }: { readonly taskId: string }) {
  const { isBusy, act } = useAct()
  const info = useInfo()
  if (info.data?.replays !== true) return null
  const verify = async () => {
    const { verdict } = await ask<{ verdict: string }>(
      'POST',
      `/tasks/${encodeURIComponent(taskId)}/replay`,
      {},
    )
    return `The replay with this server's code: ${verdict}`
  }
  return (
    <button type="button" disabled={isBusy} onClick={() => void act(verify)}>
      Verify
    </button>
  )
}

function SignalButton({ details: { task } }: { readonly details: TaskDetails }) {
  const awaited = task.state === 'waiting' ? task.waits.filter(({ kind }) => kind === 'signal') : []
  const question = useQuestion()
  const [name, setName] = useState(awaited[0]?.name ?? awaited[0]?.key ?? '')
  const [text, setText] = useState('')
  const value = parsed(text)
  const send = async () => {
    const { awaited: isAwaited } = await api().signal(task, name, value.value)
    return isAwaited ? 'The task has the signal' : 'The signal waits until the task asks for it'
  }
  return (
    <>
      <button type="button" onClick={question.open}>
        Signal
      </button>
      {question.isOpen ? (
        <FormDialog
          question={question}
          title="Send a signal"
          submit="Send"
          isDisabled={!value.isGood}
          action={send}
        >
          <label className="field">
            <span>Name</span>
            <input required autoFocus value={name} onChange={({ target }) => setName(target.value)} />
          </label>
          <JsonField
            label="Value, as JSON; empty for none"
            text={text}
            onChange={setText}
            isGood={value.isGood}
          />
        </FormDialog>
      ) : null}
    </>
  )
}

function ForkButton({
  details,
  onFork,
}: {
  readonly details: TaskDetails
  readonly onFork: (taskId: string) => Promise<ReactNode>
}) {
  const { task } = details
  const question = useQuestion()
  const all = useAllSteps(details, question.isOpen)
  const steps = all.data ?? details.steps
  const [chosen, setKey] = useState<string>()
  const key = chosen ?? steps.at(-1)?.key ?? ''
  const [edit, setEdit] = useState<string>()
  const recorded = JSON.stringify(steps.find((it) => it.key === key)?.result, undefined, 2) ?? ''
  const value = parsed(edit ?? '')
  const fork = async () => {
    const receipt = await api().fork(
      task,
      edit === undefined ? { fromStep: key } : { edits: { [key]: value.value } },
    )
    if (!receipt.accepted) throw new Error(receipt.message)
    return <>The fork was submitted, as {await onFork(receipt.taskId)}</>
  }
  return (
    <>
      <button type="button" onClick={question.open}>
        Fork
      </button>
      {question.isOpen ? (
        <FormDialog
          question={question}
          title="Submit again from a step"
          submit="Fork"
          isDisabled={all.data === undefined || !value.isGood}
          action={fork}
        >
          {all.error === null ? null : <Problem error={all.error} what="all steps" onRetry={all.refetch} />}
          <label className="field">
            <span>From the step</span>
            <select
              value={key}
              onChange={({ target }) => {
                setKey(target.value)
                setEdit(undefined)
              }}
            >
              {steps.map((step) => (
                <option key={step.seq} value={step.key}>
                  {step.key}
                </option>
              ))}
            </select>
          </label>
          <label className="check">
            <input
              type="checkbox"
              checked={edit !== undefined}
              onChange={({ target }) => setEdit(target.checked ? recorded : undefined)}
            />{' '}
            With another result of this step
          </label>
          {edit === undefined ? (
            <p className="faint">The step and all after it run again; those before it keep their results.</p>
          ) : (
            <JsonField label="Its result, as JSON" text={edit} onChange={setEdit} isGood={value.isGood} />
          )}
        </FormDialog>
      ) : null}
    </>
  )
}
