import type { Receipt, Submission } from './submission.ts'
import { submit } from './submit.ts'
import { submitNeeds } from './needs.ts'
import type { Operations } from '../transition/operation.ts'

/** Writes about submissions. */
export interface SubmitWrites {
  /** One commit for all. Source: `docs/semantics.md 2`. */
  submit: { fields: { readonly tasks: readonly Submission[] }; outcome: readonly Receipt[] }
}

export const submitOperations: Operations<SubmitWrites> = {
  submit: { rank: 3, needs: submitNeeds, fold: (ws, { tasks }) => submit(ws, tasks) },
}
