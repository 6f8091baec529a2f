import { z } from 'zod'

/** What a client has agreed on: `contracted` weighs 4, and in strict order comes before `marketplace`. Source: agent-scheduler-paper 4.2. */
export const clientTiers = ['contracted', 'marketplace'] as const
export type ClientTier = (typeof clientTiers)[number]

/**
 * Fair shares between clients; unset, tasks of a lane start in the order of submission, whoever's they are. Source:
 * agent-scheduler-paper 4; `docs/semantics.md 11`, C5.
 */
export const SharesConfig = z
  .strictObject(
    {
      /** `strict`: contracted clients come first, whatever they used. `weighted`: the weight of 4 alone decides. */
      tierPolicy: z.enum(['strict', 'weighted'], { error: "'strict' or 'weighted'" }).default('strict'),
      /** When a task's place is told: when a slot is free, or, as the paper has it, when it is queued. */
      keying: z.enum(['dispatch', 'enqueue'], { error: "'dispatch' or 'enqueue'" }).default('dispatch'),
      /** Where a new client, or one that comes back, begins: beside those that are active, or, as the paper has it, at 0. */
      placement: z.enum(['floor', 'zero'], { error: "'floor' or 'zero'" }).default('floor'),
      /** Whether what a task costs is taken from its client's credits. */
      ledger: z.boolean({ error: 'true or false' }).default(false),
      /** How much a client's reputation raises its weight: w (1 + beta R). Source: `docs/semantics.md 11.6`. */
      reputationBeta: z
        .number({ error: 'a number from 0 to 100' })
        .min(0, { error: 'a number from 0 to 100' })
        .max(100, { error: 'a number from 0 to 100' })
        .default(0),
      /** The share of starts that no reputation has a say in. */
      exploration: z
        .number({ error: 'a number from 0 to 1' })
        .min(0, { error: 'a number from 0 to 1' })
        .max(1, { error: 'a number from 0 to 1' })
        .default(0.05),
    },
    { error: 'an object of settings for fair shares' },
  )
  .readonly()
export type SharesConfig = z.output<typeof SharesConfig>

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
