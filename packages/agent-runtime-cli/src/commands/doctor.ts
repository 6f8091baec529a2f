import { inspectStore } from '@ku0/agent-runtime-persistence'
import { cliExitCodes } from '../exit-codes.ts'
import type { Run } from '../call.ts'
import { storeOf } from '../store-of.ts'
import { count, dated, size } from '../screen/words.ts'

export const run: Run = async (call) => {
  const report = await inspectStore(await storeOf(call))
  const { versions, durability, files, counts, clock, processes, anchor, problems } = report
  const { full, normal } = durability.synchronous
  const told = anchor.isDamaged ? 'damaged' : anchor.commit === null ? 'none' : count(anchor.commit)
  const errors = problems.filter(({ level }) => level === 'error').length
  call.print.answer(report, () => [
    `${report.path}: ${errors === 0 ? 'well' : `${errors} ${errors === 1 ? 'error' : 'errors'}`}`,
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
    ...problems.flatMap(({ level, message, remedy }) => [`${level}: ${message}`, `  ${remedy}`]),
  ])
  return report.ok ? cliExitCodes.ok : cliExitCodes.damaged
}
