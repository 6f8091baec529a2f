import { z } from 'zod'

/** A step's stored result, the memo that answers when the handler is gone through again. Source: `docs/semantics.md 7`. */
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
  /** Of a race or an all: the keys that its branches used up, whatever became of the calls. */
  branchKeys: z.array(z.string()).optional(),
  /** Of one that was called in a branch itself. */
  nested: z.literal(true).optional(),
})
export type StepRecord = z.infer<typeof StepRecord>
