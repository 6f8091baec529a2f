import { z } from 'zod'
import type { ApprovalRequest } from './approval.ts'
import type { WaitReason } from './event.ts'

/** What a handler may wait for without holding a slot. All but timers wait for something that arrives under a name. */
export const waitKinds = ['timer', 'signal', 'approval', 'child'] as const
export type WaitKind = (typeof waitKinds)[number]

/** Why a task waits whose first wait is of this kind. Source: `docs/semantics.md 1.1`. */
export const waitReasonOf = {
  timer: 'timer',
  signal: 'signal',
  approval: 'approval',
  child: 'children',
} as const satisfies Record<WaitKind, WaitReason>

/** What the names and keys of the runtime's own begin with; a program's do not. */
export const RESERVED = '$ku0/'

/**
 * How a wait ended: its time came; what it was for arrived; its patience ended before that; and for an approval, how it was
 * answered, or that a spot check let it through.
 */
export const waitOutcomes = ['fired', 'received', 'timed_out', 'approved', 'rejected', 'passed'] as const
export type WaitOutcome = (typeof waitOutcomes)[number]

/** A wait that is open: what a waiting task waits for. */
export const OpenWait = z.strictObject({
  key: z.string(),
  /** The place of the call in its pass through the handler, from 0. */
  position: z.int().min(0),
  kind: z.enum(waitKinds),
  /** What it waits for arrives under this name: a signal's own, or one of the runtime's. */
  name: z.string().optional(),
  /** When a timer fires, or the patience for a signal ends; epoch ms. */
  dueAt: z.number().optional(),
})
export type OpenWait = z.infer<typeof OpenWait>

/** A wait that is over: the memo that answers when the handler is gone through again. Source: `docs/semantics.md 12.3, 12.4`. */
export const WaitRecord = z.strictObject({
  key: z.string(),
  position: z.int().min(0),
  kind: z.enum(waitKinds),
  outcome: z.enum(waitOutcomes),
  /** What came with the signal, in the codec's form. */
  value: z.string().optional(),
  /** The seq of the event that is this memo. */
  seq: z.int().min(1),
  at: z.number(),
})
export type WaitRecord = z.infer<typeof WaitRecord>

/** A wait as a pass asks for it. One that is open already keeps the time it has. */
export interface WaitRequest {
  readonly key: string
  readonly position: number
  readonly kind: WaitKind
  /** Of all but timers. */
  readonly name?: string
  /** A timer has this or `delayMs`, by the store's clock; the others may. Epoch ms. */
  readonly dueAt?: number
  readonly delayMs?: number
  /** Of an approval. */
  readonly approval?: ApprovalRequest
}
