import { z } from 'zod'
import { outOfCreditsChoices } from './client.ts'

/**
 * Fair shares between clients. Unset, tasks of a lane start in the order of submission, whichever client they
 * belong to. Source: agent-scheduler-paper 4; `docs/semantics.md 11`, C5.
 */
export const SharesConfig = z
  .strictObject(
    {
      /** `strict`: contracted clients come first, whatever they used. `weighted`: the weight of 4 alone decides. */
      tierPolicy: z.enum(['strict', 'weighted'], { error: "'strict' or 'weighted'" }).default('strict'),
      /** When a task's place is decided: when a slot is free, or, as in the paper, when it is queued. */
      keying: z.enum(['dispatch', 'enqueue'], { error: "'dispatch' or 'enqueue'" }).default('dispatch'),
      /** Where a new client, or one that comes back, begins: beside those that are active, or, as the paper has it, at 0. */
      placement: z.enum(['floor', 'zero'], { error: "'floor' or 'zero'" }).default('floor'),
      /** Whether what a task costs is taken from its client's credits. */
      ledger: z.boolean({ error: 'true or false' }).default(false),
      /**
       * With a ledger: what happens to a task whose estimate its client's credits do not cover. `run`: it starts. `park`: it stays queued until
       * there are credits. `reject`: it is refused when it is submitted; a task that is queued already stays queued. Source: `docs/semantics.md 11.9`.
       */
      outOfCredits: z.enum(outOfCreditsChoices, { error: "'run', 'park' or 'reject'" }).default('run'),
      /** The credits of a client that nobody has set. */
      startCredits: z
        .number({ error: 'a number from 0 to 1e9' })
        .min(0, { error: 'a number from 0 to 1e9' })
        .max(1e9, { error: 'a number from 0 to 1e9' })
        .default(1_000),
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
      /**
       * Capacities of resources by name: `model:NAME` in tokens, `tool:NAME` in tasks, `compute` in cost. Clients are served by the largest part of a
       * capacity that their running tasks hold. Source: Ghodsi et al. 2011; `docs/semantics.md 11.10`.
       */
      dominant: z
        .record(
          z
            .string()
            .regex(/^(?:compute|(?:model|tool):.+)$/s, { error: "'compute', 'model:NAME' or 'tool:NAME'" }),
          z
            .number({ error: 'a capacity above 0, at most 1e12' })
            .gt(0, { error: 'a capacity above 0, at most 1e12' })
            .max(1e12, { error: 'a capacity above 0, at most 1e12' }),
          { error: "an object of capacities, such as { 'model:big': 100_000, compute: 8 }" },
        )
        .readonly()
        .optional(),
    },
    { error: 'an object with settings for fair shares' },
  )
  .refine(({ dominant, keying }) => dominant === undefined || keying === 'dispatch', {
    error: "'dispatch', because dominant shares change while a task is queued",
    path: ['keying'],
  })
  .refine(({ ledger, outOfCredits }) => ledger || outOfCredits === 'run', {
    error: "true, because outOfCredits is not 'run'",
    path: ['ledger'],
  })
  .readonly()
export type SharesConfig = z.output<typeof SharesConfig>
