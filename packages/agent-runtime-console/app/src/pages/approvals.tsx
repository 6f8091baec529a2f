import type { PendingApproval } from '@ku0/agent-runtime-client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ask } from '../server/ask.ts'
import { useMayOperate } from '../server/info.ts'
import { useLivePages } from '../server/live-pages.ts'
import { useLiveQuery } from '../server/live.tsx'
import { api } from '../server/session.ts'
import { useAct } from '../ui/act.tsx'
import { Asked } from '../ui/asked.tsx'
import { curl } from '../ui/commands.ts'
import { Copy, CopyAs } from '../ui/copy.tsx'
import { Empty } from '../ui/empty.tsx'
import { many, shortId } from '../ui/format.ts'
import { Json } from '../ui/json.tsx'
import { JsonField, parsed } from '../ui/json-field.tsx'
import { Markdown } from '../ui/markdown.tsx'
import { More } from '../ui/more.tsx'
import { When } from '../ui/now.tsx'
import { Page } from '../ui/page.tsx'
import { Problem } from '../ui/problem.tsx'

/** What waits for a verdict. */
export function ApprovalsPage() {
  const { request } = useSearch({ from: '/approvals' })
  const navigate = useNavigate()
  const router = useRouter()
  const approvals = useLivePages(['approvals'], async (cursor) => {
    const page = await api().approvals.list({ limit: 100, cursor })
    return { rows: page.approvals, cursor: page.cursor }
  })
  const isListed = approvals.data?.some((it) => isAskedFor(it, request)) === true
  // A link may name a request that stands further down.
  const linked = useLiveQuery(['approvals', 'of', request], () => findRequest(request ?? ''), {
    isEnabled: request !== undefined && approvals.data !== undefined && !isListed,
  })
  const choose = (approvalId: string) =>
    void navigate({ to: '/approvals', search: { request: approvalId }, replace: true })
  /** Whoever has gone to another request or page by the time that this one is answered stays there. */
  const leave = () => {
    const { pathname, search } = router.state.location
    if (pathname.endsWith('/approvals') && search.request === request)
      void navigate({ to: '/approvals', search: {}, replace: true })
  }
  return (
    <Page
      title="Approvals"
      beside={<CopyAs path="/approvals" call="approvals.list()" json={approvals.data} />}
    >
      <Asked query={approvals} what="the approvals">
        {(listed) => {
          const more = isListed || linked.data === undefined || linked.data === null ? [] : [linked.data]
          const all = [...more, ...listed]
          if (all.length === 0 && !approvals.hasNextPage)
            return (
              <Empty title="Nothing waits for a verdict">
                <p>
                  A task asks with <code>ctx.requestApproval</code>. Its request then stands here until
                  somebody approves or rejects it.
                </p>
              </Empty>
            )
          const chosen = request === undefined ? all[0] : all.find((it) => isAskedFor(it, request))
          return (
            <div className="inbox">
              <div className="card inbox-list">
                <ul className="plain" aria-label="Requests">
                  {all.map((it) => (
                    <li key={it.approvalId}>
                      <button
                        type="button"
                        data-row
                        aria-current={it === chosen}
                        onClick={() => choose(it.approvalId)}
                      >
                        <strong>{it.key}</strong>
                        <span className="faint">
                          {it.type} · <code title={it.taskId}>{shortId(it.taskId)}</code> ·{' '}
                          <When at={it.requestedAt} />
                        </span>
                      </button>
                    </li>
                  ))}
                </ul>
                <More pages={approvals} what="requests" />
              </div>
              {chosen !== undefined ? (
                <Request key={chosen.approvalId} request={chosen} onDone={leave} />
              ) : request !== undefined && linked.error !== null ? (
                <Problem error={linked.error} what="the request" onRetry={linked.refetch} />
              ) : request === undefined || linked.data === undefined ? null : (
                <Empty title="This request is not open">
                  <p>
                    <code>{request}</code> was answered, its time ran out, or its task has ended. The requests
                    beside this are open.
                  </p>
                </Empty>
              )}
            </div>
          )
        }}
      </Asked>
    </Page>
  )
}

function isAskedFor({ approvalId, taskId }: PendingApproval, request: string | undefined): boolean {
  return approvalId === request || taskId === request
}

/** The open request that a link names by its own id, which begins with that of its task, or by its task. */
async function findRequest(request: string): Promise<PendingApproval | null> {
  for (const task of new Set([request, request.replace(/:\d+$/, '')])) {
    const { approvals } = await api().approvals.list({ task })
    const found = approvals.find((it) => isAskedFor(it, request))
    if (found !== undefined) return found
  }
  return null
}

const NAME_SLOT = 'agent-runtime reviewer'

function Request({ request, onDone }: { readonly request: PendingApproval; readonly onDone: () => void }) {
  const { approvalId, taskId, type, key, mode, artifact, requestedAt, dueAt, rejections } = request
  const [by, setBy] = useState(() => localStorage.getItem(NAME_SLOT) ?? '')
  const [feedback, setFeedback] = useState('')
  const [text, setText] = useState('')
  const { isGood, value } = parsed(text)
  const { isBusy, act } = useAct()
  const mayOperate = useMayOperate()
  const verdict = {
    ...(by === '' ? {} : { by }),
    ...(feedback === '' ? {} : { feedback }),
  }
  const approval = { ...verdict, ...(value === undefined ? {} : { value }) }
  const answer = (isApproved: boolean) => {
    localStorage.setItem(NAME_SLOT, by)
    void act(async () => {
      await (isApproved
        ? api().approvals.approve(approvalId, approval)
        : api().approvals.reject(approvalId, verdict))
      return isApproved ? `${key} was approved, and the task goes on` : `${key} was rejected`
    }).then((isDone) => isDone && onDone())
  }
  return (
    <section className="card pad request" aria-label={`Request ${key}`}>
      <h2>{key}</h2>
      <p className="faint">
        {type} ·{' '}
        <Link to="/tasks/$taskId" params={{ taskId }}>
          <code>{taskId}</code>
        </Link>{' '}
        · asked <When at={requestedAt} />
        {dueAt === undefined ? null : (
          <>
            {' '}
            · to be answered <When at={dueAt} />
          </>
        )}{' '}
        · mode {mode}
        {rejections === 0 ? '' : ` · rejected ${many(rejections, 'time')} before`}
      </p>
      <Artifact value={artifact} />
      {mayOperate ? (
        <form onSubmit={(event) => event.preventDefault()}>
          <label className="field wide">
            <span>Feedback, which the task gets</span>
            <textarea rows={3} value={feedback} onChange={({ target }) => setFeedback(target.value)} />
          </label>
          <JsonField
            label="Value in JSON, which the task gets if you approve"
            text={text}
            isGood={isGood}
            onChange={setText}
          />
          <label className="field">
            <span>Your name, for the trail</span>
            <input value={by} onChange={({ target }) => setBy(target.value)} />
          </label>
          <div className="row wrap">
            <button
              type="button"
              className="primary"
              disabled={isBusy || !isGood}
              onClick={() => answer(true)}
            >
              Approve
            </button>
            <button
              type="button"
              className="danger"
              disabled={isBusy || feedback.trim() === ''}
              title={feedback.trim() === '' ? 'Say in the feedback what to do better' : undefined}
              onClick={() => answer(false)}
            >
              Reject
            </button>
            {feedback.trim() === '' ? <span className="faint">A rejection needs feedback.</span> : null}
            <Copy
              text={() => curl(`/approvals/${encodeURIComponent(approvalId)}/approve`, 'POST', approval)}
              label="Copy as cURL"
            />
          </div>
        </form>
      ) : (
        <p className="faint">Your token may look at requests, and not answer them.</p>
      )}
      <Trail taskId={taskId} />
    </section>
  )
}

/** A diff in its colours, a text as Markdown, anything else as JSON. */
function Artifact({ value }: { readonly value: unknown }) {
  if (typeof value === 'string' && /^(---|\+\+\+|@@|diff )/m.test(value)) {
    const kinds: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'place' }
    return (
      <pre className="diff" tabIndex={0} aria-label="Diff">
        {value.split('\n').map((line, index) => (
          <span key={index} className={/^(---|\+\+\+) /.test(line) ? 'place' : kinds[line.charAt(0)]}>
            {`${line}\n`}
          </span>
        ))}
      </pre>
    )
  }
  if (typeof value === 'string')
    return (
      <div className="prose" tabIndex={0} aria-label="Artifact" role="group">
        <Markdown text={value} />
      </div>
    )
  return <Json value={value} label="Artifact" />
}

interface Entry {
  readonly approvalId: string
  readonly key: string
  readonly outcome: string
  readonly resolvedAt?: string
  readonly by?: string
  readonly feedback?: string
}

function Trail({ taskId }: { readonly taskId: string }) {
  const trail = useQuery({
    queryKey: ['trail', taskId],
    queryFn: () =>
      ask<Readonly<Record<string, readonly Entry[]>>>(
        'GET',
        `/tasks/${encodeURIComponent(taskId)}/approvals`,
      ),
  })
  return (
    <Asked query={trail} what="the trail">
      {(found) => <Before entries={Object.values(found).find((it) => Array.isArray(it)) ?? []} />}
    </Asked>
  )
}

function Before({ entries }: { readonly entries: readonly Entry[] }) {
  const before = entries.filter(({ outcome }) => outcome !== 'pending')
  if (before.length === 0) return null
  return (
    <>
      <h3>Before</h3>
      <ul className="plain">
        {before.map((it) => (
          <li key={it.approvalId}>
            <strong>{it.key}</strong> {it.outcome}
            {it.by === undefined ? '' : ` by ${it.by}`}{' '}
            {it.resolvedAt === undefined ? null : (
              <span className="faint">
                <When at={Date.parse(it.resolvedAt)} />
              </span>
            )}
            {it.feedback === undefined ? null : <p>{it.feedback}</p>}
          </li>
        ))}
      </ul>
    </>
  )
}
