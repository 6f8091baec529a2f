// The review, crashed after every commit: it comes to the same report, and no clause that was read is read again.
import { readFileSync } from 'node:fs'
import { sweepCrashes, TaskStuck, type TestRuntime } from '@ku0/agent-runtime/testing'
import { answer } from '../src/desk.ts'
import { agreement, review, tasks } from '../src/review.ts'

export { tasks }

const contract = readFileSync(new URL('../src/contract.txt', import.meta.url), 'utf8')

/** A review of the contract, with all questions answered. */
export const sweep = (every = 1) =>
  sweepCrashes({
    tasks,
    every,
    script: async (test) => {
      const receipt = await test.runtime.submit(review, { job: 'a review', contract }, { agreement })
      return answered(test, receipt.taskId)
    },
  })

/** The result of a review whose questions people answer, whenever it waits for nothing else. */
async function answered(test: TestRuntime, taskId: string): Promise<unknown> {
  for (;;) {
    try {
      return await test.result(taskId)
    } catch (error) {
      if (!(error instanceof TaskStuck) || (await answer(test.runtime)).length === 0) throw error
    }
  }
}
