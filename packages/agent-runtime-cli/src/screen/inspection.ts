import type { Inspection, ServerReport } from '@ku0/agent-runtime-persistence'
import type { Line } from './printer.ts'
import { table } from './table.ts'
import { count, dated, many, size } from './words.ts'

/** The findings about a store and its surroundings: of a file, or of a server of PostgreSQL. */
export function inspectionLines(report: Inspection | ServerReport): readonly Line[] {
  return 'checks' in report ? checkLines(report) : fileLines(report)
}

function checkLines({ ok, location, checks }: ServerReport): readonly Line[] {
  const failed = checks.filter((check) => check.ok === false).length
  return [
    `${location}: ${ok ? 'a store can be used here' : 'a store cannot be used here as it is'}${failed === 0 ? '' : `, ${many(failed, 'check')} failed`}`,
    ...table(
      ['', 'WHAT', 'NEEDED', 'FOUND'],
      checks.map((check) => [
        check.ok === null
          ? { text: 'not tried', style: 'yellow' }
          : check.ok
            ? { text: 'works', style: 'green' }
            : { text: 'fails', style: check.needed === 'advice' ? 'yellow' : 'red' },
        check.name,
        check.needed === 'store' ? 'always' : check.needed === 'sessions' ? 'without a pooler' : 'advice',
        check.found,
      ]),
    ),
    ...checks.flatMap(({ name, remedy }) => (remedy === undefined ? [] : [`${name}: ${remedy}`])),
  ]
}

function fileLines(report: Inspection): readonly Line[] {
  const { versions, durability, files, counts, clock, processes, anchor, problems } = report
  const { full, normal } = durability.synchronous
  const errors = problems.filter(({ level }) => level === 'error').length
  const told = anchor.isDamaged ? 'damaged' : anchor.commit === null ? 'none' : count(anchor.commit)
  return [
    `${report.path}: ${errors === 0 ? 'well' : many(errors, 'error')}`,
    `  store ${report.storeId}, schema ${versions.schema} of ${versions.schemaKnown}; SQLite ${versions.sqlite}, Node ${versions.node}`,
    `  journal mode ${durability.journalMode}; synchronous ${full ?? 'untried'} with durability full, ${normal ?? 'untried'} with normal; last writer ${durability.lastWriter ?? 'unknown'}`,
    `  tasks ${count(counts.tasks)}, ${count(counts.running)} running, ${count(counts.waiting)} waiting; commits ${count(counts.commits)}, anchor ${told}`,
    `  pages ${count(report.size.pages)} of ${size(report.size.pageBytes)}, ${count(report.size.freePages)} free`,
    ...files.map(({ path, bytes, mode }) =>
      bytes === null ? `  ${path}: none` : `  ${path}: ${size(bytes)}, mode ${mode ?? ''}`,
    ),
    `  clock ${dated(clock.at)}, ${clock.offsetMs === null ? 'not opened in this boot' : `moved by ${clock.offsetMs} ms since the first opening in this boot`}`,
    ...processes.map(
      ({ pid, host, lastSeenAt, alive }) =>
        `  process ${pid} on ${host}: ${alive === null ? 'unknown' : alive ? 'alive' : 'dead'}, last seen ${dated(lastSeenAt)}`,
    ),
    ...problemLines(problems),
  ]
}

export function problemLines(problems: Inspection['problems']): readonly Line[] {
  return problems.flatMap(({ level, message, remedy }) => [`${level}: ${message}`, `  ${remedy}`])
}
