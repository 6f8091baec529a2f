import { z } from 'zod'
import { childPolicies } from './child.ts'

/** A child as its parent remembers it: the memo of `ctx.spawn`. Source: `docs/semantics.md 5.5`. */
export const ChildRecord = z.strictObject({
  /** Its key in the parent, used once in the parent's life. */
  key: z.string(),
  /** The place of the call in its pass through the handler, from 0. */
  position: z.int().min(0),
  taskId: z.string(),
  type: z.string(),
  policy: z.enum(childPolicies),
  /** The seq of the event that is this memo. */
  seq: z.int().min(1),
})
export type ChildRecord = z.infer<typeof ChildRecord>
