import { readFileSync } from 'node:fs'
import { UsageError } from '../cli/exit-code.ts'
import { Report, SCHEMA_VERSION } from './report.ts'

/** A report from a file. Throws {@link UsageError} naming the file and what is wrong with it. */
export function readReport(file: string): Report {
  let data: unknown
  try {
    data = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new UsageError(`${file}: ${(cause as Error).message}`, { cause })
  }
  const version = (data as { schemaVersion?: unknown } | null)?.schemaVersion
  if (version !== SCHEMA_VERSION) {
    throw new UsageError(
      `${file}: schema version ${JSON.stringify(version)}; this gym reads version ${SCHEMA_VERSION}`,
    )
  }
  const parsed = Report.safeParse(data)
  if (parsed.success) return parsed.data
  const [first] = parsed.error.issues
  throw new UsageError(`${file}: not a report: ${first?.path.map(String).join('.')}: ${first?.message}`)
}
