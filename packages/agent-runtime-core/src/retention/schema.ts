import { z } from 'zod'
import { count, duration, wholeNumber } from '../config/setting-schema.ts'

const day = 86_400_000
const keepRule = "'forever', or an object with ageMs, count or both"

/** `'forever'`, or for how long tasks are kept after they ended, and how many of them. Whichever is reached first counts. */
const KeepTasks = z.union(
  [
    z.literal('forever'),
    z
      .strictObject({ ageMs: duration().optional(), count: count('tasks').optional() })
      .refine(({ ageMs, count: most }) => ageMs !== undefined || most !== undefined, { error: keepRule })
      .readonly(),
  ],
  { error: keepRule },
)

/**
 * How long tasks that ended are kept, by their final state. Unset, everything is kept. A rule of a task type takes the
 * place of the general rule as a whole, and counts the tasks of its type alone. Source: `docs/semantics.md 6.6`; `docs/retention.md`.
 */
export const RetentionConfig = z
  .strictObject(
    {
      completed: KeepTasks.default({ ageMs: 7 * day }),
      failed: KeepTasks.default({ ageMs: 90 * day }),
      canceled: KeepTasks.default({ ageMs: 7 * day }),
      /** Rules of one task type, by its name; a state that is not named has the general rule. */
      types: z
        .record(
          z.string(),
          z
            .strictObject(
              {
                completed: KeepTasks.optional(),
                failed: KeepTasks.optional(),
                canceled: KeepTasks.optional(),
              },
              { error: 'an object with completed, failed or canceled' },
            )
            .readonly(),
          { error: 'rules by task type' },
        )
        .readonly()
        .default({}),
      /**
       * How long the entries of clients' ledgers are kept one by one. Older ones are folded into one opening entry for each client. Source:
       * `docs/semantics.md 11.8`.
       */
      ledger: z
        .union(
          [z.literal('forever'), z.strictObject({ ageMs: wholeNumber(1, 36_500 * day, 'ms') }).readonly()],
          {
            error: "'forever', or an object with ageMs, at most 100 years",
          },
        )
        .default('forever'),
      /** A task with an idempotency key is kept for so long after it ended, and a purchase with a key after it was made, whatever else holds: until then the key finds it. */
      keysMs: duration().default(day),
      /** How often a runtime looks for tasks to delete. */
      everyMs: duration().default(60_000),
    },
    { error: 'an object with settings for retention' },
  )
  .readonly()
export type RetentionConfig = z.output<typeof RetentionConfig>
