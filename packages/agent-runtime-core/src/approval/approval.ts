import { childKeyOf, isPatience, patientFor } from '../child/child.ts'
import { isRetryWait, PATCH_KEY } from '../history/replay.ts'
import { isDoubt } from '../step/doubt.ts'
import type { OversightMode } from './oversight-mode.ts'
import type { TaskState } from '../task/states.ts'
import { READY_KEY } from '../supervision/supervision.ts'
import { isPipelineMemo } from '../pipeline/pipeline.ts'
import { RESERVED, type WaitKind } from '../wait/wait.ts'
import { type ApprovalRequest } from './request.ts'

/** The share of its requests that a spot check puts to a human. Source: agent-scheduler-paper 3.4. */
export const SPOT_CHECK_SHARE = 0.3

/** The content of a verdict that no human gave, in canonical form. */
export const TIMEOUT_VERDICT = '{"by":"timeout"}'

/**
 * The terms of an open approval: the part of its {@link ApprovalRequest} that decides, and the seq of
 * `approval.requested`.
 */
export interface ApprovalTerms extends Pick<
  ApprovalRequest,
  'asked' | 'maxRetries' | 'onReject' | 'onTimeout' | 'escalates'
> {
  readonly request: number
}

/** A rejection that sent a task back: what was recorded after `since` and before `seq` counts no more. */
export interface Rejection {
  readonly key: string
  /** The seq of the last approval before it; 0 when there was none. */
  readonly since: number
  readonly seq: number
  readonly at: number
  /** The reviewer's verdict, in the codec's form. */
  readonly value: string
}

/** An approval that nobody has given or refused yet. */
export interface PendingApproval {
  readonly taskId: string
  readonly type: string
  readonly key: string
  /** The seq of its `approval.requested`. */
  readonly request: number
  readonly mode: OversightMode
  /** In the codec's form. */
  readonly artifact: string
  readonly requestedAt: number
  readonly dueAt?: number
  /** Rejections since the last approval. */
  readonly rejections: number
}

/** The result of a verdict. `not_open`: the request does not exist, was answered, or its task has ended. */
export type VerdictOutcome =
  | { readonly as: 'resolved'; readonly state: TaskState }
  | { readonly as: 'not_open'; readonly state?: TaskState }

/** The name under which the verdict on an approval arrives. */
export function approvalName(key: string): string {
  return `${RESERVED}approval/${key}`
}

/**
 * Whether a memo stays although the task was sent back: the answer of a wait that is over, whose signal nobody would send again; the end
 * of a child that stays, which does not end again; the mark of a patch, which says by which code the task goes; and what was
 * published and received, or that the task is ready, which others have. `childAt`:
 * where the child that the task has under a key now was spawned; one that was spawned later is another child.
 */
export function outlivesRejection(
  { key, kind, seq }: { readonly key: string; readonly kind: WaitKind | 'step'; readonly seq: number },
  childAt: (key: string) => number | undefined = () => undefined,
): boolean {
  if (kind === 'step') return key.startsWith(PATCH_KEY) || key === READY_KEY || isPipelineMemo(key)
  if (kind === 'child') return isSame(childAt(childKeyOf(key)), seq)
  if (isPatience(key)) return isSame(childAt(patientFor(key)), seq)
  return kind === 'approval' || !key.startsWith(RESERVED)
}

/**
 * Whether an open wait goes with the rejection that voids what came after `since`: a back-off, and the question about a step in doubt. The
 * step that it is for runs again, and asks again.
 */
export function endsWithRejection(
  { key, terms }: { readonly key: string; readonly terms?: Pick<ApprovalTerms, 'request'> | null },
  since: number,
): boolean {
  return isRetryWait(key) || (isDoubt(key) && (terms?.request ?? 0) > since)
}

function isSame(spawnedAt: number | undefined, seq: number): boolean {
  return spawnedAt !== undefined && spawnedAt < seq
}

/** Whether a memo counts no more, because of a rejection after it. */
export function isVoid(seq: number, rejections: readonly Pick<Rejection, 'since' | 'seq'>[]): boolean {
  return rejections.some((rejection) => rejection.since < seq && seq < rejection.seq)
}
