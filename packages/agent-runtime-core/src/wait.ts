import { z } from 'zod'

/** What a handler may wait for without holding a slot. */
export const waitKinds = ['timer', 'signal'] as const
export type WaitKind = (typeof waitKinds)[number]

/** How a wait ended: its time came, its signal came, or its time came before its signal. */
export const waitOutcomes = ['fired', 'received', 'timed_out'] as const
export type WaitOutcome = (typeof waitOutcomes)[number]

/** A wait that is open: what a waiting task waits for. */
export const OpenWait = z.strictObject({
  key: z.string(),
  /** The place of the call in its pass through the handler, from 0. */
  position: z.int().min(0),
  kind: z.enum(waitKinds),
  /** The signal's name. */
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
  /** Of a signal. */
  readonly name?: string
  /** A timer has this or `delayMs`, by the store's clock; a signal may. Epoch ms. */
  readonly dueAt?: number
  readonly delayMs?: number
}
