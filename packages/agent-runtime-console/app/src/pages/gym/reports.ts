import type { Report } from '../../../../../agent-gym/src/report/report.ts'
import { ask } from '../../server/ask.ts'

/** A report that was read, and how to name it. */
export interface NamedReport {
  readonly name: string
  readonly report: Report
}

/** A report in the folder of the server. */
export interface ReportFile {
  readonly name: string
  readonly bytes: number
  readonly changedAt: string
}

/** The reports that the server offers, the newest first. */
export async function listReports(): Promise<readonly ReportFile[]> {
  const { reports } = await ask<{ reports: readonly ReportFile[] }>('GET', '/reports')
  return reports
}

/** A report of the server. Throws an error in words for people if it is none. */
export async function readReport(name: string): Promise<NamedReport> {
  return { name, report: reportIn(name, await ask('GET', `/reports/${encodeURIComponent(name)}`)) }
}

/** A report of a file that somebody has chosen. It stays in the browser. */
export async function reportOf(file: File): Promise<NamedReport> {
  if (file.size > MOST_BYTES)
    throw new Error(`${file.name} has more than ${MOST_BYTES / 1_000_000} MB: that is no report of the gym`)
  let data: unknown
  try {
    data = JSON.parse(await file.text())
  } catch {
    throw new Error(`${file.name} is not JSON: choose the .json file that gym:run writes beside its page`)
  }
  return { name: file.name, report: reportIn(file.name, data) }
}

const MOST_BYTES = 64_000_000
/** Of the layout that this page knows. */
const SCHEMA_VERSION = 1

/** A light check: the gym checks what it writes. */
function reportIn(name: string, data: unknown): Report {
  const { schemaVersion, scenarios, env, summary } = (data ?? {}) as Partial<Record<keyof Report, unknown>>
  if (typeof schemaVersion === 'number' && schemaVersion !== SCHEMA_VERSION)
    throw new Error(
      `${name} has the schema version ${schemaVersion}; this console reads version ${SCHEMA_VERSION}`,
    )
  if (
    schemaVersion !== SCHEMA_VERSION ||
    !Array.isArray(scenarios) ||
    typeof env !== 'object' ||
    typeof summary !== 'object'
  )
    throw new Error(`${name} is no report of the gym: choose the .json file that gym:run writes`)
  return data as Report
}
