// Says which tests runs of tools/test.ts have skipped, and fails when a rule or a promise rests on one of them.
//
//   node tools/skipped-tests.ts TEST_REPORT...
import { readFileSync } from 'node:fs'
import { means, provenPages, type Reference, references } from './proof.ts'

export interface SkippedTest {
  /** From the root of the workspace. */
  file: string
  /** With the names of the groups around it. */
  name: string
}

if (import.meta.main) {
  const skippedTests = process.argv
    .slice(2)
    .flatMap(
      (file) => (JSON.parse(readFileSync(file, 'utf8')) as { skippedTests: SkippedTest[] }).skippedTests,
    )
  console.log(showSkipped(skippedTests))
  const missed = unheldRules(skippedTests, provenPages.flatMap(references))
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
