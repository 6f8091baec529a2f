import type { TaskStatus } from '@ku0/agent-runtime-client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ask } from '../../server/ask.ts'
import { useMayOperate } from '../../server/info.ts'
import { api } from '../../server/session.ts'
import { Confirmed } from '../../ui/act.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { count, many } from '../../ui/format.ts'
import { Problem } from '../../ui/problem.tsx'
import { labelsOf, listFilterOf, type TaskFilter } from './filter.ts'

/** What can be done with the selected tasks, and with all that the filter selects. */
export function BulkBar({
  filter,
  tasks,
  selected,
  onClear,
}: {
  readonly filter: TaskFilter
  readonly tasks: readonly TaskStatus[]
  readonly selected: ReadonlySet<string>
  readonly onClear: () => void
}) {
  const mayOperate = useMayOperate()
  const chosen = tasks.filter(({ taskId }) => selected.has(taskId))
  const open = chosen.filter(({ state }) => ['queued', 'running', 'waiting'].includes(state))
  const over = chosen.filter(({ state }) => state === 'failed' || state === 'canceled')
  if (!mayOperate) return null
  if (chosen.length > 0)
    return (
      <div className="bulk row wrap">
        <strong>{count(chosen.length)} selected</strong>
        <Confirmed
          label={`Cancel ${count(open.length)}`}
          title={`Cancel ${many(open.length, 'task')} and all below?`}
          yes={`Cancel ${many(open.length, 'task')}`}
          isDisabled={open.length === 0}
          action={async () => {
            for (const task of open) await api().cancel(task)
            onClear()
            return `Canceled: ${many(open.length, 'task')}`
          }}
        >
          <p>Running handlers get the signal to stop. A canceled task can be retried as a new one.</p>
        </Confirmed>
        <Confirmed
          label={`Retry ${count(over.length)}`}
          title={`Submit ${many(over.length, 'task')} again?`}
          yes={`Retry ${many(over.length, 'task')}`}
          isDangerous={false}
          isDisabled={over.length === 0}
          action={async () => {
            for (const task of over) await api().retry(task)
            onClear()
            return `Submitted again: ${many(over.length, 'task')}`
          }}
        >
          <p>Each becomes a new task, which keeps the steps that were completed.</p>
        </Confirmed>
        <button type="button" className="quiet" onClick={onClear}>
          Select none
        </button>
      </div>
    )
  const hasFilter = Object.keys(filter).length > 0
  // The server's bulk actions know no lanes.
  if (!hasFilter || filter.lanes !== undefined) return null
  return (
    <div className="bulk row wrap">
      <WholeFilter action="cancel" filter={filter} />
      <WholeFilter action="retry" filter={filter} />
    </div>
  )
}

interface BulkAction {
  readonly token: string
  readonly state: 'counted' | 'running' | 'stopped' | 'done' | 'failed'
  readonly count: number
  readonly done: number
  readonly changed: number
  readonly problem?: string
}

const states = { cancel: ['queued', 'running', 'waiting'], retry: ['failed', 'canceled'] } as const
const verbs = { cancel: 'Cancel', retry: 'Retry' } as const

/** Counts first, asks, then shows how far it is, and can be stopped. */
function WholeFilter({
  action,
  filter,
}: {
  readonly action: 'cancel' | 'retry'
  readonly filter: TaskFilter
}) {
  const [isOpen, setOpen] = useState(false)
  const { states: wanted, ...rest } = listFilterOf(filter)
  const possible = wanted?.filter((state) => (states[action] as readonly string[]).includes(state))
  if (possible?.length === 0) return null
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {verbs[action]} all of these…
      </button>
      {isOpen ? (
        <BulkDialog
          action={action}
          filter={{
            ...(possible === undefined ? {} : { states: possible }),
            ...(rest.types === undefined ? {} : { types: rest.types }),
            ...(rest.parent === undefined ? {} : { parent: rest.parent }),
            ...(rest.client === undefined ? {} : { client: rest.client }),
            ...(rest.text === undefined ? {} : { text: rest.text }),
            ...(filter.label === undefined ? {} : { labels: labelsOf(filter.label) }),
          }}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </>
  )
}

export function BulkDialog({
  action,
  filter,
  onClose,
}: {
  readonly action: 'cancel' | 'retry'
  readonly filter: object
  readonly onClose: () => void
}) {
  const [found, setFound] = useState<BulkAction>()
  const [error, setError] = useState<unknown>()
  const queries = useQueryClient()
  const wish = JSON.stringify(filter)
  useEffect(() => {
    let isGone = false
    void ask<BulkAction>('POST', '/tasks:bulk', { action, filter: JSON.parse(wish) as object }).then(
      (counted) => isGone || setFound(counted),
      (problem: unknown) => isGone || setError(problem),
    )
    return () => {
      isGone = true
    }
  }, [action, wish])
  const token = found?.token
  const isRunning = found?.state === 'running'
  useEffect(() => {
    if (!isRunning) return undefined
    const timer = setInterval(() => {
      void ask<BulkAction>('GET', `/tasks:bulk/${token}`).then(setFound, setError)
    }, 500)
    return () => clearInterval(timer)
  }, [isRunning, token])
  const close = () => {
    void queries.invalidateQueries()
    onClose()
  }
  const move = (method: 'POST' | 'DELETE') =>
    void ask<BulkAction>(method, `/tasks:bulk/${token}`).then(setFound, setError)

  return (
    <Dialog title={`${verbs[action]} all tasks of the filter`} onClose={close}>
      {error === undefined ? null : <Problem error={error} what="an answer to this action" />}
      {found === undefined ? (
        error === undefined ? (
          <p>Counting…</p>
        ) : null
      ) : found.state === 'counted' ? (
        <p>
          The filter selects <strong>{count(found.count)}</strong>{' '}
          {action === 'cancel' ? 'open tasks' : 'failed or canceled tasks'}. Tasks that are submitted from now
          on are not among them.
        </p>
      ) : (
        <>
          <progress max={found.count} value={found.done} aria-label="How far it is" />
          <p aria-live="polite">
            {count(found.done)} of {count(found.count)} looked at, {count(found.changed)}{' '}
            {action === 'cancel' ? 'canceled' : 'submitted again'}. {words[found.state]}
          </p>
          {found.problem === undefined ? null : <p>{found.problem}</p>}
        </>
      )}
      <div className="row end">
        {isRunning ? (
          <button type="button" onClick={() => move('DELETE')}>
            Stop
          </button>
        ) : (
          <button type="button" onClick={close}>
            {found?.state === 'counted' || found === undefined ? 'Keep as it is' : 'Close'}
          </button>
        )}
        {found?.state === 'counted' ? (
          <button
            type="button"
            className={action === 'cancel' ? 'danger' : 'primary'}
            disabled={found.count === 0}
            onClick={() => move('POST')}
          >
            {verbs[action]} {many(found.count, 'task')}
          </button>
        ) : null}
      </div>
    </Dialog>
  )
}

const words = {
  counted: '',
  running: 'It goes on.',
  stopped: 'It was stopped.',
  done: 'Done.',
  failed: 'It failed.',
}
