import type { Receipt, Submission } from './submission.ts'

/** Writes about submissions. */
export interface SubmitWrites {
  /** One commit for all. Source: `docs/semantics.md 2`. */
  submit: { fields: { readonly tasks: readonly Submission[] }; outcome: readonly Receipt[] }
}
