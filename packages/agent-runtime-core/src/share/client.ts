/**
 * The contract of a client: `contracted` weighs 4, and in strict order comes before `marketplace`. Source:
 * agent-scheduler-paper 4.2.
 */
export const clientTiers = ['contracted', 'marketplace'] as const
export type ClientTier = (typeof clientTiers)[number]

/** The treatment of a task whose estimate its client's credits do not cover. Source: `docs/semantics.md 11.9`. */
export const outOfCreditsChoices = ['run', 'park', 'reject'] as const
export type OutOfCredits = (typeof outOfCreditsChoices)[number]

/** A request for credits, open until there are so many or its task has left the queue. Source: `docs/semantics.md 11.9`. */
export interface CreditRequest {
  /** The task whose turn has come. */
  readonly taskId: string
  /** Its estimate, and what the client lacks of it. */
  readonly asked: number
  readonly missing: number
  /** Epoch ms. */
  readonly since: number
}

/** A client of the store, as its share is reckoned. Source: `docs/semantics.md 11`. */
export interface ClientRecord {
  readonly name: string
  /** Its share: twice the credits get twice the service. */
  readonly credits: number
  readonly tier: ClientTier
  /** The service it got so far, weighted: the client with the least comes next. */
  readonly virtualTime: number
  /** The cost of its tasks that have ended. */
  readonly spent: number
  /** With a ledger: the credits that are reserved for its tasks that have started. */
  readonly reserved: number
  /** How many entries its ledger has had. */
  readonly entries: number
  /** An open request for credits: the estimate of the task that asks, how many are missing, and since when. */
  readonly asks?: CreditRequest
  /** Tasks that could start, and tasks that run. */
  readonly queued: number
  readonly running: number
  /** Where dominant shares order clients: the largest part of a capacity that its running tasks hold, by what it is entitled to. */
  readonly dominantShare?: number
}

/** The credits of a client without settings. */
export const defaultCredits = 1_000
