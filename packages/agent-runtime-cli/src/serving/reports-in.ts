import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { RuntimeError } from '@ku0/agent-runtime-core'
import type { ReportFile, ReportSource } from '@ku0/agent-runtime-server'

/** The reports of the gym in a folder: its `.json` files, and of them only what is a report. Throws if there is no such folder. */
export async function reportsIn(folder: string): Promise<ReportSource> {
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory() !== true)
    throw new RuntimeError('invalid_argument', `--reports: a folder with reports of the gym; given ${folder}`)
  return {
    async list() {
      const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
      const files = await Promise.all(names.map((name) => fileOf(folder, name)))
      return files
        .filter((file) => file !== undefined)
        .toSorted((a, b) => b.changedAt - a.changedAt || (a.name < b.name ? -1 : 1))
    },
    async read(name) {
      const text = await readFile(join(folder, name), 'utf8').catch(() => undefined)
      return text !== undefined && isReport(text) ? text : undefined
    },
  }
}

/** A file that went away meanwhile, or is larger than any report, is none. */
async function fileOf(folder: string, name: string): Promise<ReportFile | undefined> {
  const found = await stat(join(folder, name)).catch(() => undefined)
  if (found?.isFile() !== true || found.size > MOST_BYTES) return undefined
  return { name, bytes: found.size, changedAt: Math.floor(found.mtimeMs) }
}

const MOST_BYTES = 64_000_000

function isReport(text: string): boolean {
  try {
    const { schemaVersion, scenarios } = JSON.parse(text) as Readonly<Record<string, unknown>>
    return Number.isInteger(schemaVersion) && Array.isArray(scenarios)
  } catch {
    return false
  }
}
