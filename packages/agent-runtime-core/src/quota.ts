import { z } from 'zod'
import { duration, MAX_COUNT, wholeNumber } from './setting.ts'

/** What a quota can be set for. */
export type QuotaKind = 'model' | 'tool'

/**
 * The limits of one model or tool; what is not set is not limited. `maxInFlight` counts the tasks that hold
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
    { error: 'an object of limits' },
  )
  .superRefine(({ onExceeded, ...limits }, context) => {
    if (onExceeded === 'reject') return
    for (const [key, limit] of Object.entries(limits)) {
      if (limit === 0)
        context.addIssue({ code: 'custom', path: [key], message: "1 or more where onExceeded is 'defer'" })
    }
  })
  .readonly()
export type QuotaLimit = z.output<typeof QuotaLimit>

/** What happens to a task above a limit. */
export type OnExceeded = QuotaLimit['onExceeded']

/**
 * The quotas of a store. A name's own limit takes the place of the default as a whole; under the default each
 * name has a counter of its own. Source: Track AA, Quota Rules; `docs/semantics.md 2.6, 2.8`.
 */
export const QuotaConfig = z
  .strictObject(
    {
      models: limitsByName(),
      tools: limitsByName(),
      defaults: z
        .strictObject(
          { model: QuotaLimit.optional(), tool: QuotaLimit.optional() },
          { error: 'an object with a limit for model, tool or both' },
        )
        .readonly()
        .optional(),
      /** The length of a window. */
      windowMs: duration().default(60_000),
    },
    { error: 'an object of quotas' },
  )
  .readonly()
export type QuotaConfig = z.output<typeof QuotaConfig>

/**
 * The limit that holds for a model or tool: its own, else the default, else none. Source: `docs/semantics.md
 * 2.6`.
 */
export function limitFor(config: QuotaConfig, kind: QuotaKind, name: string): QuotaLimit | undefined {
  const own = kind === 'model' ? config.models : config.tools
  return own !== undefined && Object.hasOwn(own, name) ? own[name] : config.defaults?.[kind]
}

/**
 * The name of a counter: `model:gpt-4`, `tool:browser`. The wait reason of a deferred task is `quota:` and
 * this.
 */
export function quotaKey(kind: QuotaKind, name: string): string {
  return `${kind}:${name}`
}

/** The start, in epoch ms, of the window that `now` lies in. Source: `docs/semantics.md 2.8`. */
export function windowStart(now: number, windowMs: number): number {
  return Math.floor(now / windowMs) * windowMs
}

/** Limits by name. A record would drop the name `__proto__` without a word, so that is refused before. */
function limitsByName() {
  const error = 'limits by name (of 1 to 255 characters, not __proto__)'
  return z
    .custom<Record<string, z.input<typeof QuotaLimit>>>((input) => !hasProtoKey(input), { error })
    .pipe(z.record(z.string().min(1, { error }).max(255, { error }), QuotaLimit, { error }).readonly())
    .optional()
}

function hasProtoKey(input: unknown): boolean {
  return typeof input === 'object' && input !== null && Object.hasOwn(input, '__proto__')
}
