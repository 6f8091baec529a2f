import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'
import { renderHtml } from './html.ts'
import { renderJunit } from './junit.ts'
import type { Plots } from './plots.ts'
import { Report } from './report.ts'

/** Writes the JSON report, and beside it its page and its JUnit file. Answers with the files. */
export function writeReport(
  file: string,
  report: Report,
  plots: ReadonlyMap<string, Plots>,
): readonly string[] {
  const checked = Report.parse(report)
  const { dir, name } = parse(file)
  const html = join(dir, `${name}.html`)
  const junit = join(dir, `${name}.junit.xml`)
  mkdirSync(dirname(file), { recursive: true })
  replace(file, `${JSON.stringify(checked, undefined, 2)}\n`)
  replace(html, renderHtml(checked, plots))
  replace(junit, renderJunit(checked))
  return [file, html, junit]
}

/** As a whole or not at all, so that a reader never finds half a report. */
function replace(file: string, text: string): void {
  const draft = `${file}.${process.pid}.draft`
  writeFileSync(draft, text)
  renameSync(draft, file)
}
