import { z } from 'zod'
import { divergenceKinds } from './divergence-kinds.ts'

/** The first place at which a handler's code and its task's history differ. Source: `docs/semantics.md 6.4`. */
export const Divergence = z.strictObject({
  kind: z.enum(divergenceKinds),
  /** The key of the call; of a `missing_step` that of the call that was recorded and did not come; empty of `history_edited`, and of an unreadable input. */
  key: z.string(),
  /** The place of the call in its pass, from 0; of a `missing_step` its place in the history. */
  position: z.int().min(0),
  /**
   * The record of the history: the key there, the kind of call of that key (`step`, `timer`, `signal`), the hash
   * of the input, or the position. For `history_edited`: the expected event, by the start of its hash;
   * `actual` is the event found. For `value_unreadable`: what is missing or failed.
   */
  expected: z.string(),
  /** The call of the code in its place, in the same terms; absent if the handler returned instead. */
  actual: z.string().optional(),
})
export type Divergence = z.infer<typeof Divergence>
