import type { ApprovalRequest } from '../approval/request.ts'
import type { TaskState } from '../task/states.ts'

/**
 * The kinds of waits of a handler that hold no slot. All but timers wait for something that arrives under a
 * name.
 */
export const waitKinds = ['timer', 'signal', 'approval', 'child'] as const
export type WaitKind = (typeof waitKinds)[number]

/** The kinds of waits of a waiting task. Source: `docs/semantics.md 1.1`. */
export const waitReasons = ['approval', 'signal', 'timer', 'children', 'budget', 'divergence'] as const
export type WaitReason = (typeof waitReasons)[number]

/** Why a task waits whose first wait is of this kind. Source: `docs/semantics.md 1.1`. */
export const waitReasonOf = {
  timer: 'timer',
  signal: 'signal',
  approval: 'approval',
  child: 'children',
} as const satisfies Record<WaitKind, WaitReason>

/** The prefix of the runtime's own names and keys, which programs cannot use. */
export const RESERVED = '$ku0/'

/**
 * How a wait ended: its time came; what it was for arrived; its patience ended before that; and for an approval, how it was
 * answered, or that a spot check let it through.
 */
export const waitOutcomes = ['fired', 'received', 'timed_out', 'approved', 'rejected', 'passed'] as const
export type WaitOutcome = (typeof waitOutcomes)[number]

/** A wait as a pass asks for it. One that is open already keeps the time it has. */
export interface WaitRequest {
  readonly key: string
  readonly position: number
  readonly kind: WaitKind
  /** For all but timers. */
  readonly name?: string
  /** A timer has this or `delayMs`, by the wall clock; the others may. Epoch ms. */
  readonly dueAt?: number
  readonly delayMs?: number
  /** For an approval. */
  readonly approval?: ApprovalRequest
}

/** Whether an event can end what a task waits for: one that is parked waits for a person. */
export function isWaiting({ state, waitReason }: Parked): boolean {
  return state === 'waiting' && waitReason !== 'divergence' && waitReason !== 'budget'
}

interface Parked {
  readonly state: TaskState
  readonly waitReason: WaitReason | null
}
