import { z } from 'zod'
import { waitKinds, waitOutcomes } from './wait.ts'

/** A wait that is open: what a waiting task waits for. */
export const OpenWait = z.strictObject({
  key: z.string(),
  /** The place of the call in its pass through the handler, from 0. */
  position: z.int().min(0),
  kind: z.enum(waitKinds),
  /** The name under which the thing that it waits for arrives: a signal's own, or one of the runtime's. */
  name: z.string().optional(),
  /** When a timer fires, or the patience for a signal ends; epoch ms. */
  dueAt: z.number().optional(),
})
export type OpenWait = z.infer<typeof OpenWait>

/**
 * A wait that has ended: the memo that is returned when the handler runs again. Source: `docs/semantics.md
 * 12.3, 12.4`.
 */
export const WaitRecord = z.strictObject({
  key: z.string(),
  position: z.int().min(0),
  kind: z.enum(waitKinds),
  outcome: z.enum(waitOutcomes),
  /** The value of the signal, in the codec's form. */
  value: z.string().optional(),
  /** The seq of the event that is this memo. */
  seq: z.int().min(1),
  at: z.number(),
})
export type WaitRecord = z.infer<typeof WaitRecord>
