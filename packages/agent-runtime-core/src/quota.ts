import { z } from 'zod'
import { duration, MAX_COUNT, wholeNumber } from './setting.ts'

const nameRule = 'limits by name (of 1 to 255 characters, not __proto__)'
const labelRule = 'limits by label, then by value (of 1 to 255 characters, not __proto__)'

/** What a quota can be set for, besides labels. */
export const quotaKinds = ['model', 'tool', 'client'] as const
export type QuotaKind = (typeof quotaKinds)[number]

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
    { error: 'an object of quotas' },
  )
  .readonly()
export type QuotaConfig = z.output<typeof QuotaConfig>

/**
 * The limit that holds for a model, tool or client: its own, else the default, else none. Source: `docs/semantics.md
 * 2.6`.
 */
export function limitFor(config: QuotaConfig, kind: QuotaKind, name: string): QuotaLimit | undefined {
  return own(config[`${kind}s`], name) ?? config.defaults?.[kind]
}

/** The limit that holds for a value of a label: its own, else the label's default, else none. Source: `docs/semantics.md 2.6`. */
export function labelLimitFor(config: QuotaConfig, label: string, value: string): QuotaLimit | undefined {
  return own(own(config.labels, label), value) ?? own(config.defaults?.labels, label)
}

/**
 * The name of a counter: `model:gpt-4`, `tool:browser`, `client:ada`. The wait reason of a deferred task is `quota:` and
 * this.
 */
export function quotaKey(kind: QuotaKind, name: string): string {
  return `${kind}:${name}`
}

/** The same of a label: `label:team=alpha`. In the label's name, `%` and `=` are escaped as in a URL. */
export function labelQuotaKey(label: string, value: string): string {
  return `label:${label.replaceAll(/[%=]/g, encodeURIComponent)}=${value}`
}

/** The limit behind a quota key; undefined when nothing limits it. */
export function limitOfKey(config: QuotaConfig, key: string): QuotaLimit | undefined {
  const name = key.slice(key.indexOf(':') + 1)
  for (const kind of quotaKinds) if (key.startsWith(`${kind}:`)) return limitFor(config, kind, name)
  const at = name.indexOf('=')
  const label = name.slice(0, at).replaceAll('%3D', '=').replaceAll('%25', '%')
  return labelLimitFor(config, label, name.slice(at + 1))
}

/** What of a submission quotas go by. */
export interface QuotaNames {
  readonly model?: string | undefined
  readonly tools?: readonly string[] | undefined
  readonly client?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** The keys of all that a submission names, each once, in one order: the same set is the same stream. */
export function quotaKeysOf({ model, tools, client, labels }: QuotaNames): readonly string[] {
  const keys = new Set<string>()
  if (model !== undefined) keys.add(quotaKey('model', model))
  for (const tool of tools ?? []) keys.add(quotaKey('tool', tool))
  if (client !== undefined) keys.add(quotaKey('client', client))
  for (const [label, value] of Object.entries(labels ?? {})) keys.add(labelQuotaKey(label, value))
  return [...keys].toSorted()
}

/** The start, in epoch ms, of the window that `now` lies in. Source: `docs/semantics.md 2.8`. */
export function windowStart(now: number, windowMs: number): number {
  return Math.floor(now / windowMs) * windowMs
}

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

function own<Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}

function hasProtoKey(input: unknown): boolean {
  return typeof input === 'object' && input !== null && Object.hasOwn(input, '__proto__')
}
