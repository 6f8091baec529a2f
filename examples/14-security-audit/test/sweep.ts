// The audit, crashed after every commit: it comes to the same report, and no probe that had an answer is made again.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sweepCrashes, TaskStuck, type TestRuntime } from '@ku0/agent-runtime/testing'
import { answer } from '../src/analyst.ts'
import { audit, tasks } from '../src/audit.ts'
import { startTarget } from '../src/target.ts'

export { tasks }

/** An audit of a target of its own for each run, with all questions answered. */
export const sweep = (every = 1) =>
  sweepCrashes({
    tasks,
    every,
    // Its probes are real requests: no limit of time may come before their answers.
    patienceMs: 2_000,
    script: async (test) => {
      const place = mkdtempSync(join(tmpdir(), 'security-audit-'))
      try {
        await using target = await startTarget(join(place, 'files'))
        const { url, ports, folder } = target
        const receipt = await test.runtime.submit(audit, { url, ports, folder })
        return await answered(test, receipt.taskId)
      } finally {
        rmSync(place, { recursive: true, force: true })
      }
    },
  })

/** The result of an audit whose questions the analyst answers, whenever it waits for nothing else. */
async function answered(test: TestRuntime, taskId: string): Promise<unknown> {
  for (;;) {
    try {
      return await test.result(taskId)
    } catch (error) {
      if (!(error instanceof TaskStuck) || (await answer(test.runtime)).length === 0) throw error
    }
  }
}
