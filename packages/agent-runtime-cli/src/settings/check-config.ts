import {
  ConfigError,
  type ConfigProblem,
  instead,
  isRecord,
  RuntimeError,
  show,
} from '@ku0/agent-runtime-core'
import type { z } from 'zod'
import type { CliConfig } from './define-config.ts'
import { CliConfig as schema } from './schema.ts'

/** Checks the default export of a configuration file. Throws a `ConfigError` with every problem. */
export function assertConfig(given: unknown, file: string): CliConfig {
  if (!isRecord(given))
    throw new RuntimeError(
      'invalid_config',
      `${file}: its default export must be an object: export default defineConfig({ store: 'sqlite:runtime.db' }); given ${show(given)}`,
    )
  const read = schema.safeParse(given)
  if (read.success) return read.data
  throw new ConfigError(problemsOf(read.error, given, (path) => `${file}: ${path}`))
}

/** Checks what environment variables said. `variableOf` names the variable of a setting. */
export function assertVariables(given: unknown, variableOf: (name: string) => string): void {
  const read = schema.safeParse(given)
  if (!read.success)
    throw new ConfigError(problemsOf(read.error, given, (path) => variableOf(path.replace(/\[.*$/, ''))))
}

function problemsOf(
  error: z.ZodError,
  given: unknown,
  placeOf: (path: string) => string,
): readonly ConfigProblem[] {
  return error.issues.flatMap((issue): readonly ConfigProblem[] => {
    const path = issue.path.map(String)
    if (issue.code !== 'unrecognized_keys')
      return [{ path: placeOf(path.join('.')), allowed: issue.message, given: at(given, issue.path) }]
    return issue.keys.map((key) => ({
      path: placeOf([...path, key].join('.')),
      allowed: `no such setting${instead(key, namesAt(path))}`,
      given: at(given, [...issue.path, key]),
    }))
  })
}

/** The names that exist at a place of the schema. */
function namesAt(path: readonly string[]): readonly string[] {
  let place: unknown = schema
  for (const key of path) {
    const it = bare(place)
    place = it?.shape?.[key] ?? it?.valueType
  }
  return Object.keys(bare(place)?.shape ?? {})
}

interface Place {
  readonly shape?: Readonly<Record<string, unknown>>
  readonly valueType?: unknown
  readonly unwrap?: () => unknown
}

function bare(place: unknown): Place | undefined {
  const it = place as Place | undefined
  return it?.shape === undefined && it?.valueType === undefined && it?.unwrap !== undefined
    ? bare(it.unwrap())
    : it
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (it, key) => (isRecord(it) || Array.isArray(it) ? (it as Record<PropertyKey, unknown>)[key] : undefined),
    value,
  )
}
