import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'
import { UsageError } from '../cli/exit-code.ts'
import { renderHtml } from './html.ts'
import { renderJunit } from './junit.ts'
import { makeFolder } from './make-folder.ts'
import type { Plots } from './plots.ts'
import { Report } from './report.ts'

/** The report is complete, but its files could not be written. The message says which one, and why. */
export class ReportNotWritten extends Error {
  static {
    this.prototype.name = 'ReportNotWritten'
  }
}

/**
 * Makes the folder of a report and tries a draft of each of its files there, so that nothing runs for a report that would be lost.
 * Throws {@link UsageError}.
 */
export function checkReportPlace(file: string): void {
  const { json, html, junit } = filesOf(file)
  if (json === html)
    throw new UsageError(`--report: ${json} is where the page goes; give a name that ends in .json`)
  try {
    makeFolder(dirname(json))
    for (const each of [json, html, junit]) {
      // A rename would put a regular file in the place of a device.
      if (statSync(each, { throwIfNoEntry: false })?.isFile() === false)
        throw new Error(`${each} is there and is no regular file`)
      const draft = draftOf(each)
      writeFileSync(draft, '')
      rmSync(draft)
    }
  } catch (cause) {
    const { message } = cause as Error
    throw new UsageError(
      `--report: cannot write ${json}: ${message}; give a file in a folder that can be written`,
      { cause },
    )
  }
}

/** Writes the JSON report, and beside it its page and its JUnit file. Answers with the files. Throws {@link ReportNotWritten}. */
export function writeReport(
  file: string,
  report: Report,
  plots: ReadonlyMap<string, Plots>,
): readonly string[] {
  const checked = Report.parse(report)
  const { json, html, junit } = filesOf(file)
  const texts = [
    [json, `${JSON.stringify(checked, undefined, 2)}\n`],
    [html, renderHtml(checked, plots)],
    [junit, renderJunit(checked)],
  ] as const
  for (const [path, text] of texts) {
    try {
      makeFolder(dirname(path))
      replace(path, text)
    } catch (cause) {
      throw new ReportNotWritten(`cannot write ${path}: ${(cause as Error).message}`, { cause })
    }
  }
  return texts.map(([path]) => path)
}

function filesOf(file: string) {
  const { dir, name } = parse(file)
  return { json: file, html: join(dir, `${name}.html`), junit: join(dir, `${name}.junit.xml`) }
}

/** As a whole or not at all, so that a reader never finds half a report. */
function replace(file: string, text: string): void {
  const draft = draftOf(file)
  try {
    writeFileSync(draft, text)
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

function draftOf(file: string): string {
  return `${file}.${process.pid}.draft`
}
