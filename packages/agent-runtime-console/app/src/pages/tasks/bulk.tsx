import { ApiError, type TaskStatus } from '@ku0/agent-runtime-client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { ask } from '../../server/ask.ts'
import { useMayOperate } from '../../server/info.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { count, many } from '../../ui/format.ts'
import { Problem } from '../../ui/problem.tsx'
import { labelsOf, listFilterOf, type TaskFilter } from './filter.ts'

interface BarTerms {
  readonly filter: TaskFilter
  readonly tasks: readonly TaskStatus[]
  readonly selected: ReadonlySet<string>
  readonly onClear: () => void
}

/** What can be done with the selected tasks, and with all that the filter selects. */
export function BulkBar({ filter, tasks, selected, onClear }: BarTerms) {
  // The tasks may leave the list while the dialog is open: it keeps those that it was opened for.
  const [asked, setAsked] = useState<Asked>()
  if (!useMayOperate()) return null
  return (
    <>
      <Bar filter={filter} tasks={tasks} selected={selected} onClear={onClear} onAsk={setAsked} />
      {asked === undefined ? null : (
        <BulkDialog
          {...asked}
          onClose={(isStarted) => {
            setAsked(undefined)
            if (isStarted) onClear()
          }}
        />
      )}
    </>
  )
}

function Bar({ filter, tasks, selected, onClear, onAsk }: BarTerms & { readonly onAsk: Ask }) {
  const chosen = tasks.filter(({ taskId }) => selected.has(taskId))
  const open = chosen.filter(({ state }) => ['queued', 'running', 'waiting'].includes(state))
  const over = chosen.filter(({ state }) => state === 'failed' || state === 'canceled')
  if (chosen.length > 0)
    return (
      <div className="bulk row wrap">
        <strong>{count(chosen.length)} selected</strong>
        <button
          type="button"
          disabled={open.length === 0}
          onClick={() => onAsk({ action: 'cancel', wish: { taskIds: open.map(({ taskId }) => taskId) } })}
        >
          Cancel {count(open.length)}
        </button>
        <button
          type="button"
          disabled={over.length === 0}
          // The oldest first, as with a filter: the list has the newest first.
          onClick={() =>
            onAsk({ action: 'retry', wish: { taskIds: over.map(({ taskId }) => taskId).toReversed() } })
          }
        >
          Retry {count(over.length)}
        </button>
        <button type="button" className="quiet" onClick={onClear}>
          Select none
        </button>
      </div>
    )
  if (Object.keys(filter).length === 0) return null
  return (
    <div className="bulk row wrap">
      <WholeFilter action="cancel" filter={filter} onAsk={onAsk} />
      <WholeFilter action="retry" filter={filter} onAsk={onAsk} />
    </div>
  )
}

interface BulkAction {
  readonly token: string
  readonly state: 'counted' | 'running' | 'stopped' | 'done' | 'failed'
  readonly count: number
  readonly done: number
  readonly changed: number
  readonly before: number
  readonly rejected: number
  readonly problem?: string
}

const states = { cancel: ['queued', 'running', 'waiting'], retry: ['failed', 'canceled'] } as const
const verbs = { cancel: 'Cancel', retry: 'Retry' } as const

/** The action on all that the filter selects. */
function WholeFilter({
  action,
  filter,
  onAsk,
}: {
  readonly action: 'cancel' | 'retry'
  readonly filter: TaskFilter
  readonly onAsk: Ask
}) {
  const { states: wanted, types, lanes, parent, client, text } = listFilterOf(filter)
  const possible = wanted?.filter((state) => (states[action] as readonly string[]).includes(state))
  if (possible?.length === 0) return null
  const labels = filter.label === undefined ? undefined : labelsOf(filter.label)
  return (
    <button
      type="button"
      onClick={() =>
        onAsk({ action, wish: { filter: { states: possible, types, lanes, parent, client, text, labels } } })
      }
    >
      {verbs[action]} all of these…
    </button>
  )
}

/** The tasks that a filter selects, or those that are named. */
type BulkWish =
  | { readonly filter: { readonly states?: readonly string[] | undefined; readonly [more: string]: unknown } }
  | { readonly taskIds: readonly string[] }

/** An action, and the tasks that it was opened for. */
interface Asked {
  readonly action: 'cancel' | 'retry'
  readonly wish: BulkWish
}

type Ask = (asked: Asked) => void

/** A request of the dialog that failed, and the way to make it again. */
interface Failure {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly error: unknown
  readonly isForgotten: boolean
  readonly again: () => void
}

/** Counts first, asks, then shows how far it is, and can be stopped. */
export function BulkDialog({
  action,
  wish: given,
  onClose,
}: {
  readonly action: 'cancel' | 'retry'
  readonly wish: BulkWish
  readonly onClose: (isStarted: boolean) => void
}) {
  const [found, setFound] = useState<BulkAction>()
  const [failure, setFailure] = useState<Failure>()
  /** Each begins with a count of its own. */
  const [run, setRun] = useState(0)
  const latest = useRef(run)
  latest.current = run
  const queries = useQueryClient()
  const wish = JSON.stringify(given)
  const send = (method: Failure['method'], path: string, body?: unknown) => {
    let isLeft = false
    // An answer to an earlier run tells nothing of this one.
    const isLate = () => isLeft || latest.current !== run
    const asking = async () => {
      try {
        const answer = await ask<BulkAction>(method, path, body)
        if (isLate()) return
        setFound(answer)
        setFailure((before) => (before?.method === method ? undefined : before))
      } catch (error) {
        if (isLate()) return
        // A server that was started anew knows the action no more: what it did is done, and a new count finds the rest.
        const isForgotten = error instanceof ApiError && error.status === 404
        const again = isForgotten ? startOver : () => send(method, path, body)
        setFailure({ method, error, isForgotten, again })
      }
    }
    void asking()
    return () => {
      isLeft = true
    }
  }
  const startOver = () => {
    setFailure(undefined)
    setFound(undefined)
    setRun((it) => it + 1)
  }
  useEffect(
    () => send('POST', '/tasks:bulk', { action, ...(JSON.parse(wish) as object) }),
    // Another wish or run counts anew; `send` is the same for all.
    [action, wish, run],
  )
  const token = found?.token
  const isRunning = found?.state === 'running'
  const isForgotten = failure?.isForgotten === true
  useEffect(() => {
    if (!isRunning || isForgotten) return undefined
    let leave = () => {}
    const timer = setInterval(() => {
      leave = send('GET', `/tasks:bulk/${token}`)
    }, 500)
    return () => {
      clearInterval(timer)
      leave()
    }
  }, [isRunning, isForgotten, token])
  const close = () => {
    void queries.invalidateQueries()
    onClose(run > 0 || (found !== undefined && found.state !== 'counted'))
  }
  const move = (method: 'POST' | 'DELETE') => void send(method, `/tasks:bulk/${token}`)
  const isCut = found?.state === 'failed' || found?.state === 'stopped'

  return (
    <Dialog
      title={
        'filter' in given ? `${verbs[action]} all tasks of the filter` : `${verbs[action]} the selected tasks`
      }
      onClose={close}
    >
      {failure === undefined ? null : (
        <Problem error={failure.error} what="an answer to this action" onRetry={failure.again} />
      )}
      {found === undefined ? (
        failure === undefined ? (
          <p>Counting…</p>
        ) : null
      ) : found.state === 'counted' ? (
        <Counted action={action} wish={given} found={found.count} />
      ) : (
        <>
          <progress max={found.count} value={found.done} aria-label="How far it is" />
          <p aria-live="polite">
            {count(found.done)} of {count(found.count)} looked at, {count(found.changed)}{' '}
            {action === 'cancel' ? 'canceled' : 'submitted again'}
            {found.before === 0 ? '' : `, ${count(found.before)} retried before`}
            {found.rejected === 0 ? '' : `, ${count(found.rejected)} refused`}. {words[found.state]}
          </p>
          {found.problem === undefined ? null : <p>{found.problem}</p>}
          {isCut ? <p>Go on counts the tasks that are left, and asks again.</p> : null}
        </>
      )}
      <div className="row end">
        {isRunning && !isForgotten ? (
          <button type="button" onClick={() => move('DELETE')}>
            Stop
          </button>
        ) : (
          <button type="button" onClick={close}>
            {found?.state === 'counted' || found === undefined ? 'Keep as it is' : 'Close'}
          </button>
        )}
        {isCut && failure === undefined ? (
          <button type="button" className="primary" onClick={startOver}>
            Go on
          </button>
        ) : null}
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

/** What the button will do, before it is pressed. */
function Counted({
  action,
  wish,
  found,
}: {
  readonly action: 'cancel' | 'retry'
  readonly wish: BulkWish
  readonly found: number
}) {
  const wanted = 'filter' in wish ? (wish.filter.states ?? ['failed']) : ['failed', 'canceled']
  const kind = action === 'cancel' ? 'open' : wanted.join(' or ')
  return (
    <>
      <p>
        {'filter' in wish ? 'The filter selects' : 'You selected'} <strong>{count(found)}</strong> {kind}{' '}
        {found === 1 ? 'task' : 'tasks'}.
        {'filter' in wish ? ' Tasks that are submitted from now on are not among them.' : ''}
      </p>
      {'filter' in wish ? <FilterInWords filter={wish.filter} /> : null}
      <p>
        {action === 'cancel'
          ? 'Children are canceled with their parents. Running handlers get the signal to stop. A canceled task can be retried as a new one.'
          : `Each becomes a new task, which keeps the steps that were completed. Tasks that were retried before are left alone${'filter' in wish ? ', and so are children: the retry of a parent starts its failed children again' : ''}.`}
      </p>
    </>
  )
}

/** What the filter asks for, so that nobody acts on more tasks than they look at. */
function FilterInWords({ filter }: { readonly filter: Readonly<Record<string, unknown>> }) {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined && inWords(value) !== '')
  return (
    <dl className="facts" aria-label="The filter">
      {given.map(([name, value]) => (
        <div key={name}>
          <dt>{filterNames[name] ?? name}</dt>
          <dd>{inWords(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

const filterNames: Readonly<Record<string, string>> = {
  states: 'States',
  types: 'Types',
  lanes: 'Lane',
  parent: 'Children of',
  client: 'Client',
  text: 'Search',
  labels: 'Labels',
  kind: 'Kind of failure',
}

function inWords(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([name, it]) => `${name}=${it}`)
    .join(', ')
}

const words = {
  counted: '',
  running: 'It goes on.',
  stopped: 'It was stopped.',
  done: 'Done.',
  failed: 'It failed.',
}
