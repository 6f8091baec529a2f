import { inspectStore, probeServer } from '@ku0/agent-runtime-persistence'
import { cliExitCodes } from '../exit-codes.ts'
import type { Call, Run } from '../call.ts'
import { storeOf } from '../store-of.ts'
import { table } from '../screen/table.ts'
import { count, dated, many, size } from '../screen/words.ts'

export const run: Run = async (call) => {
  const url = await storeOf(call)
  return /^postgres(?:ql)?:/i.test(url) ? runOnServer(call, url) : runOnFile(call, url)
}

/** Tries a server for all that a store needs. */
async function runOnServer({ print }: Call, url: string): Promise<number> {
  const report = await probeServer(url)
  const failed = report.checks.filter(({ ok }) => ok === false).length
  print.answer(report, () => [
    `${report.location}: ${report.ok ? 'a store can be used here' : 'a store cannot be used here as it is'}${failed === 0 ? '' : `, ${many(failed, 'check')} failed`}`,
    ...table(
      ['', 'WHAT', 'NEEDED', 'FOUND'],
      report.checks.map(({ name, needed, ok, found }) => [
        ok === null
          ? { text: 'not tried', style: 'yellow' }
          : ok
            ? { text: 'works', style: 'green' }
            : { text: 'fails', style: needed === 'advice' ? 'yellow' : 'red' },
        name,
        needed === 'store' ? 'always' : needed === 'sessions' ? 'without a pooler' : 'advice',
        found,
      ]),
    ),
    ...report.checks.flatMap(({ name, remedy }) => (remedy === undefined ? [] : [`${name}: ${remedy}`])),
  ])
  return report.ok ? cliExitCodes.ok : cliExitCodes.damaged
}

async function runOnFile(call: Call, url: string): Promise<number> {
  const report = await inspectStore(url)
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
