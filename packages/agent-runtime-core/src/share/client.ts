export type { SharesConfig } from './schema.ts'

/** What a client has agreed on: `contracted` weighs 4, and in strict order comes before `marketplace`. Source: agent-scheduler-paper 4.2. */
export const clientTiers = ['contracted', 'marketplace'] as const
export type ClientTier = (typeof clientTiers)[number]

/** A client of the store, as its share is reckoned. Source: `docs/semantics.md 11`. */
export interface ClientRecord {
  readonly name: string
  /** What its share goes by: twice the credits, twice the service. */
  readonly credits: number
  readonly tier: ClientTier
  /** What it was served so far, weighed: who has least comes next. */
  readonly virtualTime: number
  /** What its tasks that are over cost. */
  readonly spent: number
  /** Tasks that could start, and tasks that run. */
  readonly queued: number
  readonly running: number
}

/** What a client has that nobody said anything about. */
export const defaultCredits = 1_000
