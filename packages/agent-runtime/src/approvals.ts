import {
  assertOptions,
  decode,
  encode,
  type EventData,
  type ExecutionConfig,
  type ExecutionStore,
  flagRule,
  invalid,
  keyText,
  nameRule,
  type OversightMode,
  type PendingApproval as StoredApproval,
  type Rule,
  type Rules,
  RuntimeError,
  show,
  type TaskState,
} from '@ku0/agent-runtime-core'
import { taskIdOf } from './arguments.ts'
import type { Receipt } from './receipts.ts'
import { noTask } from './result.ts'

/**
 * What waits for a human, and the humans' verdicts; any process on the store may give one. Each throws what a closed runtime
 * throws, `store_*`, and `invalid_argument` for anything outside what it documents. Source: `docs/semantics.md 12.1-12.3`.
 */
export interface Approvals {
  /** What a verdict can be given on, of all tasks or one; what patience is over for is left out. As long as there is a `cursor` there may be more: hand it to the next call. */
  list(
    filter?: ApprovalFilter,
  ): Promise<{ readonly approvals: readonly PendingApproval[]; readonly cursor?: number }>
  /**
   * Gives the approval: the task goes on. Resolves once that is committed, with the task's state then. Throws
   * `already_resolved` when it was answered before, its patience is over or its task is; `not_found` for an id that never was.
   */
  approve(approvalId: string, verdict?: Verdict): Promise<VerdictReceipt>
  /** Refuses it; `feedback` tells the work that follows what to do better. Throws as {@link approve}. */
  reject(approvalId: string, verdict?: Verdict): Promise<VerdictReceipt>
  /** Everything that was ever asked of humans for this task, with how it ended, oldest first. Throws `not_found`. */
  trail(task: Receipt | string): Promise<readonly ApprovalEntry[]>
}

export interface ApprovalFilter {
  readonly task?: Receipt | string
  /** With `task`: also what is asked by its children, and theirs. False by default. */
  readonly children?: boolean
  /** Tasks whose requests one call gives, 1 to 1000; 100 by default. */
  readonly limit?: number
  readonly cursor?: number
}

/** An approval that nobody has given or refused yet. */
export interface PendingApproval {
  readonly approvalId: string
  readonly taskId: string
  /** The task's type. */
  readonly type: string
  readonly key: string
  readonly mode: OversightMode
  /** What is to be approved, as the handler gave it. */
  readonly artifact: unknown
  readonly requestedAt: number
  /** When patience for it ends. */
  readonly dueAt?: number
  /** How often the task was rejected since its last approval. */
  readonly rejections: number
}

/** What a reviewer says. */
export interface Verdict {
  /** Who says it, for the audit trail: 1 to 255 characters. */
  readonly by?: string
  readonly feedback?: string
  /** Something for the handler, a corrected artifact say; encoded like an input. */
  readonly value?: unknown
}

export interface VerdictReceipt {
  readonly approvalId: string
  readonly taskId: string
  /** Of the task, once the verdict is committed. */
  readonly state: TaskState
}

/** One request in a task's audit trail. */
export interface ApprovalEntry {
  readonly approvalId: string
  readonly key: string
  readonly mode: OversightMode
  readonly artifact: unknown
  readonly requestedAt: number
  /** Of a spot check that drew: below 0.3 it asked. */
  readonly draw?: number
  /**
   * `pending`: nobody has answered. `passed`: a spot check let it through. `timed_out`: nobody answered in time. `revoked`: the
   * task ended, or went another way, before anybody did.
   */
  readonly outcome: 'pending' | 'approved' | 'rejected' | 'passed' | 'timed_out' | 'revoked'
  readonly resolvedAt?: number
  readonly by?: string
  readonly feedback?: string
  readonly value?: unknown
}

/** What approvals need of their runtime. */
export interface ApprovalDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly assertOpen: () => void
}

/** The approvals of one runtime. */
export function approvalsOf({ store, config, assertOpen }: ApprovalDeps): Approvals {
  const resolve = async (
    call: 'approve' | 'reject',
    approvalId: unknown,
    verdict: Verdict = {},
  ): Promise<VerdictReceipt> => {
    assertOpen()
    const { taskId, request } = partsOf(call, approvalId)
    assertOptions(call, verdict, verdictRules)
    const said = Object.fromEntries(Object.entries(verdict).filter(([, it]) => it !== undefined))
    const value = encode(said, {
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
    async list(filter: ApprovalFilter = {}) {
      assertOpen()
      assertOptions('approvals.list', filter, filterRules)
      const { task, children, limit = 100, cursor } = filter
      if (children === true && task === undefined)
        throw invalid('approvals.list option children: goes with task, without which all tasks are listed')
      const page = await store.read({
        kind: 'approvals',
        limit,
        ...(task === undefined ? {} : { taskId: taskIdOf('approvals.list', task) }),
        ...(children === undefined ? {} : { children }),
        ...(cursor === undefined ? {} : { after: cursor }),
      })
      return { ...page, approvals: page.approvals.map(pendingOf) }
    },
    approve: (approvalId, verdict) => resolve('approve', approvalId, verdict),
    reject: (approvalId, verdict) => resolve('reject', approvalId, verdict),
    async trail(task) {
      assertOpen()
      return trailOf(store, taskIdOf('approvals.trail', task))
    },
  }
}

function pendingOf({ request, artifact, ...approval }: StoredApproval): PendingApproval {
  return { approvalId: idOf(approval.taskId, request), ...approval, artifact: decode(artifact) }
}

/** Task ids may hold anything: the request is what follows the last colon. */
function idOf(taskId: string, request: number): string {
  return `${taskId}:${request}`
}

function partsOf(call: string, approvalId: unknown): { readonly taskId: string; readonly request: number } {
  const [, taskId, request] =
    typeof approvalId === 'string' ? (/^(.+):(\d{1,15})$/s.exec(approvalId) ?? []) : []
  if (taskId === undefined)
    throw invalid(
      `${call} takes the approvalId that approvals.list gives, such as task:3; given ${show(approvalId)}`,
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
    ? (await trailOf(store, taskId)).find((it) => it.approvalId === idOf(taskId, request))
    : undefined
  if (entry === undefined)
    return new RuntimeError('not_found', `there is no approval ${approvalId}`, { details: { approvalId } })
  const { key, outcome, by } = entry
  const who = by === undefined ? '' : ` by ${by}`
  return new RuntimeError(
    'already_resolved',
    outcome === 'pending'
      ? `approval ${approvalId} (${keyText(key)}) was answered, or its patience is over: the first verdict counts`
      : `approval ${approvalId} (${keyText(key)}) is ${outcome}${who} already: the first verdict counts`,
    { details: { approvalId, taskId, key, outcome } },
  )
}

/** Source: `docs/semantics.md 12.3`. */
async function trailOf(store: ExecutionStore, taskId: string): Promise<readonly ApprovalEntry[]> {
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
          artifact: decode(JSON.stringify(artifact)),
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
          ...saidIn(data.value),
        })
        break
      case 'wait.resolved':
      case 'task.resumed':
        for (const gone of data.dropped ?? []) close(gone, { outcome: 'revoked', resolvedAt: at })
        if (data.kind === 'approval')
          close(key, {
            outcome: data.outcome as ApprovalEntry['outcome'],
            resolvedAt: at,
            ...saidIn(data.value),
          })
        break
      case 'task.failed':
        if (data.key !== undefined)
          close(key, {
            outcome: data.outcome as 'rejected' | 'timed_out',
            resolvedAt: at,
            ...saidIn(data.value),
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
  'task.completed',
  'task.failed',
  'task.canceled',
])

function revoked(entry: ApprovalEntry, at: number): ApprovalEntry {
  return entry.outcome === 'pending' ? { ...entry, outcome: 'revoked', resolvedAt: at } : entry
}

function saidIn(value: unknown): Verdict {
  return value === undefined ? {} : (decode(JSON.stringify(value)) as Verdict)
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
  cursor: ['the cursor of the page before', (value) => Number.isSafeInteger(value) && Number(value) >= 0],
}
