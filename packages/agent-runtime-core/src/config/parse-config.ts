import { instead } from '../check/rules.ts'
import type { z } from 'zod'
import { ConfigError, type ConfigProblem } from '../error/errors.ts'
import { pathText } from '../check/path.ts'
import { QuotaConfig, QuotaLimit } from '../quota/schema.ts'
import { type ConfigWarning, warningsFor } from './relations.ts'
import { SharesConfig } from '../share/schema.ts'
import { markWhole } from './whole-config.ts'
import { ExecutionConfig } from './schema.ts'

/**
 * The whole configuration, deeply frozen: the given settings, and defaults for the others. Throws {@link
 * ConfigError} that names every bad field with the allowed and the given value. An unknown key is an error,
 * with the name that was probably meant. Warnings are returned, for the caller to log. Source:
 * `docs/semantics.md` C1; `docs/reliability.md` G11.
 */
export function parseExecutionConfig(input: unknown = {}): {
  readonly config: ExecutionConfig
  readonly warnings: readonly ConfigWarning[]
} {
  let result: ReturnType<typeof ExecutionConfig.safeParse>
  try {
    result = ExecutionConfig.safeParse(input)
    if (!result.success) throw new ConfigError(allProblems(result.error.issues, input))
  } catch (error) {
    if (error instanceof ConfigError) throw error
    // Getters throw, and the traps of proxies.
    throw new ConfigError([{ path: 'the configuration', allowed: 'settings that can be read', given: input }])
  }
  return { config: markWhole(result.data, input), warnings: warningsFor(result.data) }
}

/**
 * The problems of single fields, and of relations between valid fields: zod skips the latter if any field is
 * invalid.
 */
function allProblems(issues: readonly z.core.$ZodIssue[], input: unknown): ConfigProblem[] {
  const problems = issues.flatMap((issue) => problemsOf(issue, input))
  const bad = new Set(issues.map(({ path }) => path[0]))
  const good = Object.entries(input ?? {}).filter(([key]) => knownKeys([]).includes(key) && !bad.has(key))
  const rest = ExecutionConfig.safeParse(Object.fromEntries(good))
  const relations = rest.success ? [] : rest.error.issues.filter(({ code }) => code === 'custom')
  const isSound = ({ path, message }: z.core.$ZodIssue) =>
    !bad.has(path[0]) && ![...bad].some((key) => message.includes(String(key)))
  return [...problems, ...relations.filter(isSound).flatMap((issue) => problemsOf(issue, input))]
}

function problemsOf(issue: z.core.$ZodIssue, input: unknown): ConfigProblem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const path = [...issue.path, key]
      return {
        path: nameOf(path),
        allowed: unknownKey(key, knownKeys(issue.path), valueAt(input, path)),
        given: valueAt(input, path),
      }
    })
  }
  const given = valueAt(input, issue.path)
  return [{ path: nameOf(issue.path), allowed: allowedBy(issue, given), given }]
}

/** The schemas above say in their messages what they allow. */
function allowedBy(issue: z.core.$ZodIssue, given: unknown): string {
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message
  return issue.code === 'custom' && given === undefined
    ? `${issue.message}; the default does not fit, so set it`
    : issue.message
}

/** The setting of a program's workers, which is none of the store. */
const capacityNames: ReadonlySet<string> = new Set(['capacity', 'concurrency', 'maxConcurrency'])

function unknownKey(key: string, known: readonly string[], given: unknown): string {
  if (capacityNames.has(key) && known.includes('maxInFlightPerWorker'))
    return `no such setting, write workers: { capacity: ${Number.isSafeInteger(given) ? String(given) : '4'} } beside config`
  return `no such setting${instead(key, known)}`
}

/** The settings that exist at a path. */
function knownKeys([first, second, third]: readonly PropertyKey[]): string[] {
  if (first === undefined) return Object.keys(ExecutionConfig.unwrap().shape)
  if (first === 'shares') return Object.keys(SharesConfig.unwrap().shape)
  if (second === undefined) return Object.keys(QuotaConfig.unwrap().shape)
  if (second === 'defaults' && third === undefined) return ['model', 'tool', 'client', 'labels']
  return Object.keys(QuotaLimit.unwrap().shape)
}

function nameOf(path: readonly PropertyKey[]): string {
  return pathText(path).replace(/^\./, '') || 'the configuration'
}

/** The value at a path, through own properties only. */
function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}
