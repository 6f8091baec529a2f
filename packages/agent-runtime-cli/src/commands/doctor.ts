import { inspectStore, isPostgresUrl, probeServer } from '@ku0/agent-runtime-persistence'
import { cliExitCodes } from '../exit-codes.ts'
import type { Run } from '../call.ts'
import { placeOfCare } from '../place-of-care.ts'
import { inspectionLines } from '../screen/inspection.ts'

export const run: Run = async (call) => {
  const place = await placeOfCare(call)
  if (place.server !== undefined) {
    const { examineServer } = await import('../doctor/examine-server.ts')
    const { serverLines } = await import('../doctor/server-lines.ts')
    const findings = await examineServer(place, call.system)
    call.print.answer(findings, () => serverLines(findings))
    return findings.ok ? cliExitCodes.ok : cliExitCodes.damaged
  }
  const { store } = place
  const report = isPostgresUrl(store) ? await probeServer(store) : await inspectStore(store)
  call.print.answer(report, () => inspectionLines(report))
  return report.ok ? cliExitCodes.ok : cliExitCodes.damaged
}
