import type { ClientTier, Lane, OutOfCredits, OversightMode } from '@ku0/agent-runtime-core'

/** The terms of an agreement with a client; a term that is left out leaves its submissions as they are. */
export interface AgreementTerms {
  /** Its name, 1 to 255 characters. Its tasks have it as their label `agreement`. */
  readonly name: string
  /** The client that its tasks run for. */
  readonly client: string
  /** The agents, or other task types, that may be submitted under it; any of them by default. They may call others. */
  readonly agents?: readonly string[] | undefined
  /** The tier of that client: set with the first submission of a process that comes under the agreement. */
  readonly tier?: ClientTier | undefined
  readonly lane?: Lane | undefined
  /** The time limit of one pass; it starts again after each wait, crash and retry. Source: `docs/semantics.md 8.8`. */
  readonly timeoutMs?: number | undefined
  /** The longest time from the first start to the end, whatever the task does: the `wallMs` of its budget. */
  readonly deadlineMs?: number | undefined
  /**
   * The time from its submission to its end that the client was promised: `explain` says whether a task has kept it. Nothing ends a task that is
   * late.
   */
  readonly latencyMs?: number | undefined
  /** How much a person looks at its tasks at the least, and at those below them. */
  readonly oversight?: OversightMode | undefined
  /** The treatment of a task that the client has too few credits for. */
  readonly outOfCredits?: OutOfCredits | undefined
}

/** An agreement, as `defineAgreement` returns it. Frozen. Source: `docs/credits.md`, `docs/semantics.md 12.5`. */
export interface Agreement extends AgreementTerms {
  readonly kind: 'agreement'
}

/** The agreements that this client or runtime was given as `agreements`. Source: `docs/credits.md`. */
export interface Agreements {
  /** All of them, by name. A server's are those that the caller may use. */
  list(): Promise<readonly Agreement[]>
  /** Undefined if no agreement has this name. */
  get(name: string): Promise<Agreement | undefined>
}
