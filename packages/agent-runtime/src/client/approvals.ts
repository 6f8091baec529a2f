import {
  assertOptions,
  type EventData,
  type ExecutionConfig,
  type ExecutionStore,
  flagRule,
  invalid,
  keyText,
  nameRule,
  plainValues,
  type PendingApproval as StoredApproval,
  type Rule,
  type Rules,
  RuntimeError,
  show,
  type ValueCodec,
  withoutUndefined,
  type Given,
} from '@ku0/agent-runtime-core'
import type {
  ApprovalEntry,
  ApprovalFilter,
  Approvals,
  PendingApproval,
  PendingRequest,
  Verdict,
  VerdictReceipt,
} from '../api/approvals.ts'
import { taskIdOf } from '../terms/arguments.ts'
import { assertApproval } from '../terms/exchange.ts'
import type { KnownTypes } from './known-types.ts'
import { shown } from './task-status.ts'
import { noTask } from './result.ts'

/** What approvals need of their runtime. */
export interface ApprovalDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly values: ValueCodec
  readonly types: KnownTypes
  readonly assertOpen: () => void
}

/** The approvals of one runtime. */
export function approvalsOf({ store, config, values, types, assertOpen }: ApprovalDeps): Approvals {
  const resolve = async (
    call: 'approve' | 'reject',
    approvalId: unknown,
    verdict: Verdict = {},
  ): Promise<VerdictReceipt> => {
    assertOpen()
    const { taskId, request } = partsOf(call, approvalId)
    assertOptions(call, verdict, verdictRules)
    const said = withoutUndefined(verdict)
    if (call === 'approve' && said.value !== undefined && types.anyWith('approvals')) {
      const open = await openRequest(store, taskId, request)
      const terms = open === undefined ? undefined : types.exchangeOf(open.type)
      if (open !== undefined && terms !== undefined) assertApproval(terms, open.key, said.value)
    }
    const value = values.encodeFields(said, {
      open: ['feedback', 'by'],
      what: `the verdict on ${String(approvalId)}`,
      maxBytes: config.maxPayloadBytes,
    })
    const outcome = await store.write({
      kind: 'resolveApproval',
      taskId,
      request,
      verdict: call === 'approve' ? 'approved' : 'rejected',
      value,
    })
    if (outcome.as === 'not_open') throw await notOpen(store, taskId, request, String(approvalId))
    return { approvalId: String(approvalId), taskId, state: outcome.state }
  }
  return {
    async list(
      filter: ApprovalFilter = {},
    ): Promise<{ approvals: PendingRequest<never, never>[]; cursor?: number }> {
      assertOpen()
      assertOptions('approvals.list', filter, filterRules)
      const { task, children, limit = 100, cursor } = filter
      if (children === true && task === undefined)
        throw invalid(
          'approvals.list option children: only together with task; without task, the approvals of all tasks are listed',
        )
      const page = await store.read({
        kind: 'approvals',
        limit,
        ...(task === undefined ? {} : { taskId: taskIdOf('approvals.list', task) }),
        ...(children === undefined ? {} : { children }),
        ...(cursor === undefined ? {} : { after: cursor }),
      })
      // Which keys a task's requests have, and which values belong to them, is what its type says.
      const approvals = page.approvals.map((approval) => pendingOf(values, approval)) as PendingRequest<
        never,
        never
      >[]
      return { ...page, approvals }
    },
    approve: (approvalId, verdict) => resolve('approve', approvalId, verdict),
    reject: (approvalId, verdict) => resolve('reject', approvalId, verdict),
    async trail(task) {
      assertOpen()
      return trailOf(store, values, taskIdOf('approvals.trail', task))
    },
  }
}

/** The request of a task, if it can still be answered: what it is about says which schema its value has. */
async function openRequest(
  store: ExecutionStore,
  taskId: string,
  request: number,
): Promise<StoredApproval | undefined> {
  const { approvals } = await store.read({ kind: 'approvals', taskId, limit: 1 })
  return approvals.find((it) => it.request === request)
}

function pendingOf(values: ValueCodec, { request, artifact, ...approval }: StoredApproval): PendingApproval {
  return { approvalId: idOf(approval.taskId, request), ...approval, artifact: shown(values, artifact) }
}

/** A task id may hold any character, so the request number follows the last colon. */
function idOf(taskId: string, request: number): string {
  return `${taskId}:${request}`
}

function partsOf(call: string, approvalId: unknown): { readonly taskId: string; readonly request: number } {
  const [, taskId, request] =
    typeof approvalId === 'string' ? (/^(.+):(\d{1,15})$/s.exec(approvalId) ?? []) : []
  if (taskId === undefined)
    throw invalid(
      `${call} takes an approvalId from approvals.list, such as task:3; given ${show(approvalId)}`,
    )
  return { taskId, request: Number(request) }
}

async function notOpen(
  store: ExecutionStore,
  taskId: string,
  request: number,
  approvalId: string,
): Promise<RuntimeError> {
  const known = (await store.read({ kind: 'task', taskId })) !== undefined
  const entry = known
    ? (await trailOf(store, plainValues, taskId)).find((it) => it.approvalId === idOf(taskId, request))
    : undefined
  if (entry === undefined)
    return new RuntimeError('not_found', `there is no approval ${approvalId}`, { details: { approvalId } })
  const { key, outcome, by } = entry
  const who = by === undefined ? '' : ` by ${by}`
  return new RuntimeError(
    'already_resolved',
    outcome === 'pending'
      ? `approval ${approvalId} (${keyText(key)}) was already answered or has timed out: the first verdict counts`
      : `approval ${approvalId} (${keyText(key)}) was already ${outcome}${who}: the first verdict counts`,
    { details: { approvalId, taskId, key, outcome } },
  )
}

/** Source: `docs/semantics.md 12.3`. */
async function trailOf(
  store: ExecutionStore,
  values: ValueCodec,
  taskId: string,
): Promise<readonly ApprovalEntry[]> {
  const entries = new Map<string, ApprovalEntry>()
  const close = (key: string, end: Partial<ApprovalEntry>) => {
    const open = entries.get(key)
    if (open?.outcome === 'pending') entries.set(key, { ...open, ...end })
  }
  const all: string[] = []
  const done: ApprovalEntry[] = []
  for await (const { type, seq, at, data: text } of eventsOf(store, taskId)) {
    if (!followed.has(type)) continue
    const data = JSON.parse(text) as Partial<EventData['approval.requested'] & EventData['wait.resolved']>
    const { key = '' } = data
    switch (type) {
      case 'approval.requested': {
        const before = entries.get(key)
        if (before !== undefined) done.push(revoked(before, at))
        const { mode = 'supervised', artifact, draw } = data
        entries.set(key, {
          approvalId: idOf(taskId, seq),
          key,
          mode,
          artifact: shown(values, JSON.stringify(artifact)),
          requestedAt: at,
          ...(draw === undefined ? {} : { draw }),
          outcome: 'pending',
        })
        all.push(idOf(taskId, seq))
        break
      }
      case 'approval.resolved':
        close(key, {
          outcome: data.outcome as 'approved' | 'rejected',
          resolvedAt: at,
          ...saidIn(values, data.value),
        })
        break
      case 'wait.resolved':
      case 'task.resumed':
        for (const gone of data.dropped ?? []) close(gone, { outcome: 'revoked', resolvedAt: at })
        if (data.kind === 'approval')
          close(key, {
            outcome: data.outcome as ApprovalEntry['outcome'],
            resolvedAt: at,
            ...saidIn(values, data.value),
          })
        break
      case 'task.requeued':
        for (const gone of data.dropped ?? []) close(gone, { outcome: 'revoked', resolvedAt: at })
        break
      case 'task.failed':
        if (data.key !== undefined)
          close(key, {
            outcome: data.outcome as 'rejected' | 'timed_out',
            resolvedAt: at,
            ...saidIn(values, data.value),
          })
        for (const [open, entry] of entries) entries.set(open, revoked(entry, at))
        break
      default:
        for (const [open, entry] of entries) entries.set(open, revoked(entry, at))
    }
  }
  const found = new Map([...done, ...entries.values()].map((entry) => [entry.approvalId, entry]))
  return all.flatMap((id) => found.get(id) ?? [])
}

const followed: ReadonlySet<string> = new Set([
  'approval.requested',
  'approval.resolved',
  'wait.resolved',
  'task.resumed',
  'task.requeued',
  'task.completed',
  'task.failed',
  'task.canceled',
])

function revoked(entry: ApprovalEntry, at: number): ApprovalEntry {
  return entry.outcome === 'pending' ? { ...entry, outcome: 'revoked', resolvedAt: at } : entry
}

function saidIn(values: ValueCodec, value: unknown): Given<Verdict> {
  return value === undefined ? {} : (shown(values, JSON.stringify(value)) as Given<Verdict>)
}

async function* eventsOf(store: ExecutionStore, taskId: string) {
  let after = 0
  for (;;) {
    const events = await store.read({ kind: 'events', taskId, after, limit: STRETCH })
    if (events === undefined) throw noTask(taskId)
    yield* events
    if (events.length < STRETCH) return
    after = events.at(-1)?.seq ?? after
  }
}

const STRETCH = 500

const anything: Rule = ['anything that can be stored', () => true]
const verdictRules: Rules<Verdict> = {
  by: nameRule,
  feedback: ['a string', (value) => typeof value === 'string'],
  value: anything,
}
const filterRules: Rules<ApprovalFilter> = {
  task: ['a receipt or a task id', () => true],
  children: flagRule,
  limit: [
    'a whole number from 1 to 1000',
    (value) => Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= 1000,
  ],
  cursor: ['the cursor of the previous page', (value) => Number.isSafeInteger(value) && Number(value) >= 0],
}
