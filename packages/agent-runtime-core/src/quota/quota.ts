import type { QuotaLimit, QuotaConfig } from './schema.ts'

export type { QuotaLimit, QuotaConfig } from './schema.ts'

/** The kinds of names that a quota can be set for, besides labels. */
const quotaKinds = ['model', 'tool', 'client'] as const
export type QuotaKind = (typeof quotaKinds)[number]

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

/**
 * The key of a label's quota: `label:team=alpha`. In the label's name, `%` and `=` are escaped as in a URL.
 */
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

/** The fields of a submission that quotas depend on. */
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

function own<Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}

/** A provider's refusal: no task that uses one of these quota keys starts before this time. */
export interface BackOff {
  readonly keys: readonly string[]
  /** By the store's clock. */
  readonly retryAfterMs: number
}
