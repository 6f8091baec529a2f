import { z } from 'zod'
import { MAX_COUNT } from '../config/setting.ts'
import { duration, wholeNumber } from '../config/setting-schema.ts'

const nameRule = 'limits by name (of 1 to 255 characters, not __proto__)'
const labelRule = 'limits by label, then by value (of 1 to 255 characters, not __proto__)'

/**
 * The limits of one model, tool, client or value of a label; what is not set is not limited. `maxInFlight` counts the tasks that hold
 * it, `perWindow` the tasks and `tokensPerWindow` the tokens of the current window. `onExceeded` says whether
 * a task above a limit is refused at submission or stays in the queue until there is room. A limit of 0
 * forbids, and is itself refused with `defer`, which would wait for ever. Source: Track AA, Quota Rules;
 * `docs/semantics.md 2.8`, C4.
 */
export const QuotaLimit = z
  .strictObject(
    {
      maxInFlight: wholeNumber(0, MAX_COUNT, 'tasks').optional(),
      perWindow: wholeNumber(0, MAX_COUNT, 'tasks').optional(),
      tokensPerWindow: wholeNumber(0, MAX_COUNT, 'tokens').optional(),
      onExceeded: z.enum(['reject', 'defer'], { error: "'reject' or 'defer'" }).default('reject'),
    },
    { error: 'an object with limits' },
  )
  .superRefine(({ onExceeded, ...limits }, context) => {
    if (onExceeded === 'reject') return
    for (const [key, limit] of Object.entries(limits)) {
      if (limit === 0)
        context.addIssue({ code: 'custom', path: [key], message: "1 or more if onExceeded is 'defer'" })
    }
  })
  .readonly()
export type QuotaLimit = z.output<typeof QuotaLimit>

/**
 * The quotas of a store. A name's own limit takes the place of the default as a whole; under the default each
 * name has a counter of its own. Source: Track AA, Quota Rules; `docs/semantics.md 2.6, 2.8`.
 */
export const QuotaConfig = z
  .strictObject(
    {
      models: limitsByName(),
      tools: limitsByName(),
      clients: limitsByName(),
      /** By the label's name, then by its value: `{ team: { alpha: { maxInFlight: 2 } } }`. */
      labels: limitsByLabel(),
      defaults: z
        .strictObject(
          {
            model: QuotaLimit.optional(),
            tool: QuotaLimit.optional(),
            client: QuotaLimit.optional(),
            /** By the label's name: each value has a counter of its own. */
            labels: limitsByName(),
          },
          { error: 'an object with a limit for model, tool or client, or with limits for labels' },
        )
        .readonly()
        .optional(),
      /** The length of a window. */
      windowMs: duration().default(60_000),
    },
    { error: 'an object with quotas' },
  )
  .readonly()
export type QuotaConfig = z.output<typeof QuotaConfig>

function limitsByName() {
  return withoutProto<Record<string, z.input<typeof QuotaLimit>>>(nameRule)
    .pipe(z.record(nameIn(nameRule), QuotaLimit, { error: nameRule }).readonly())
    .optional()
}

function limitsByLabel() {
  const values = withoutProto<Record<string, z.input<typeof QuotaLimit>>>(nameRule).pipe(
    z.record(nameIn(nameRule), QuotaLimit, { error: nameRule }).readonly(),
  )
  return withoutProto<Record<string, z.input<typeof values>>>(labelRule)
    .pipe(z.record(nameIn(labelRule), values, { error: labelRule }).readonly())
    .optional()
}

/** A record would drop the name `__proto__` without a word, so that is refused before. */
function withoutProto<Input>(error: string) {
  return z.custom<Input>((input) => !hasProtoKey(input), { error })
}

function nameIn(error: string) {
  return z.string().min(1, { error }).max(255, { error })
}

function hasProtoKey(input: unknown): boolean {
  return typeof input === 'object' && input !== null && Object.hasOwn(input, '__proto__')
}
