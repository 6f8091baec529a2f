import { z } from 'zod'

/**
 * A step's stored result: the memo that is returned when the handler runs again. Source: `docs/semantics.md
 * 7`.
 */
export const StepRecord = z.strictObject({
  key: z.string(),
  /** The place of the call in its pass through the handler, from 0. */
  position: z.int().min(0),
  /** The result in the codec's form. */
  result: z.string(),
  /** sha256 of the step's declared input, where it declared one. */
  inputHash: z.string().optional(),
  /** The seq of the event that is this memo. */
  seq: z.int().min(1),
  at: z.number(),
  durationMs: z.number(),
  /** For a race or an all: the keys that its branches used, whatever the results of the calls. */
  branchKeys: z.array(z.string()).optional(),
  /** True for a race or all that was itself called in a branch. */
  nested: z.literal(true).optional(),
})
export type StepRecord = z.infer<typeof StepRecord>
