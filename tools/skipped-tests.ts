// Says which tests runs of tools/test.ts have skipped, and fails when a rule or a promise rests on one of them.
//
//   node tools/skipped-tests.ts [--all] TEST_REPORT...
//
// --all: the reports are of all tests that a change waits for. A rule of which none of them ran is a failure, too: a file may register fewer tests
// in a landing than each night.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { meaning, means, provenPages, type Reference, references } from './proof.ts'

export interface SkippedTest {
  /** From the root of the workspace. */
  file: string
  /** With the names of the groups around it. */
  name: string
}

/** What this needs of the report that tools/test.ts writes. */
interface Report {
  readonly skippedTests: readonly SkippedTest[]
  readonly ranTests: RanTests
}

/** The names of tests that ran, by file. */
type RanTests = Readonly<Record<string, readonly string[]>>

if (import.meta.main) {
  const { values: flags, positionals: files } = parseArgs({
    allowPositionals: true,
    options: { all: { type: 'boolean', default: false } },
  })
  const reports = files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Report)
  const skippedTests = reports.flatMap((report) => report.skippedTests)
  console.log(showSkipped(skippedTests))
  const named = provenPages.flatMap(references)
  const ran = Object.assign({}, ...reports.map(({ ranTests }) => ranTests)) as RanTests
  const missed = [...unheldRules(skippedTests, named), ...(flags.all ? untriedRules(ran, named) : [])]
  for (const complaint of missed) console.log(complaint)
  if (missed.length > 0) process.exitCode = 1
}

/** The count, then a line each: a machine that cannot run a test must not look like one on which it passed. */
export function showSkipped(skipped: readonly SkippedTest[]): string {
  return [`skipped: ${skipped.length}`, ...skipped.map(({ file, name }) => `  ${file} > ${name}`)].join('\n')
}

/** A line for each reference of a rule whose test was skipped. */
export function unheldRules(skipped: readonly SkippedTest[], named: readonly Reference[]): string[] {
  return named.flatMap((reference) => {
    const test = skipped.find((each) => means(reference, each))
    if (test === undefined) return []
    return [
      `${reference.page} ${reference.rule} rests on a test that was skipped: ${test.file} > ${test.name}`,
    ]
  })
}

/** A line for each rule of which no test ran. Rules name scenarios of the gym, too, which are no tests. */
export function untriedRules(ran: RanTests, named: readonly Reference[]): string[] {
  const all = Object.entries(ran).flatMap(([file, names]) => names.map((name) => ({ file, name })))
  const inFile = Map.groupBy(all, ({ file }) => file)
  const isTried = (it: Reference) => {
    const isMeant = meaning(it)
    return (it.path.endsWith('.test.ts') ? (inFile.get(it.path) ?? []) : all).some(isMeant)
  }
  const rules = Map.groupBy(
    named.filter(({ path }) => path.endsWith('.ts')),
    ({ page, rule }) => `${page} ${rule}`,
  )
  return [...rules]
    .filter(([, tests]) => !tests.some(isTried))
    .map(
      ([rule, tests]) => `${rule} has no test that ran: ${tests.map(({ title }) => `"${title}"`).join(', ')}`,
    )
}
