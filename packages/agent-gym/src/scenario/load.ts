import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { UsageError } from '../cli/exit-code.ts'
import { difficulties, Scenario } from './scenario.ts'

/** The scenarios of a folder's JSON files, easy ones first, then by file name. Throws {@link UsageError} naming file and field. */
export function loadScenarios(folder: string): readonly Scenario[] {
  if (!isFolder(folder)) throw new UsageError(`--benchmarks: no such folder: ${folder}`)
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
  const scenarios = files.map((name) =>
    parseScenario(readFileSync(join(folder, name), 'utf8'), join(folder, name)),
  )
  for (const [i, { id }] of scenarios.entries()) {
    const first = scenarios.findIndex((other) => other.id === id)
    if (first < i) throw new UsageError(`${files[i]}: id "${id}" is taken by ${files[first]}`)
  }
  return scenarios.toSorted((a, b) => difficulties.indexOf(a.difficulty) - difficulties.indexOf(b.difficulty))
}

/** A scenario's text, checked: its shape, the names in it, and the runtime's settings. */
export function parseScenario(text: string, file: string): Scenario {
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${file}: not JSON: ${(cause as Error).message}`, { cause })
  }
  const parsed = Scenario.safeParse(data)
  if (!parsed.success) {
    const lines = parsed.error.issues.map(
      ({ path, message }) => `  ${path.map(String).join('.') || 'the file'}: ${message}`,
    )
    throw new UsageError(`${file}: not a scenario\n${lines.join('\n')}`)
  }
  try {
    parseExecutionConfig(parsed.data.config)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    throw new UsageError(`${file}: config: ${cause.message}`, { cause })
  }
  return parsed.data
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory()
}
