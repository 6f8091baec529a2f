// The task and its fork, crashed after every commit: they come to the same ends, and no recorded step runs again.
import { sweepCrashes } from '@ku0/agent-runtime/testing'
import { report } from '../src/report.ts'

export const tasks = [report]

/** The fork goes on from the second step, as if the first had found something else. */
export const sweep = () =>
  sweepCrashes({
    tasks,
    script: async (test) => {
      const receipt = await test.runtime.submit(report, { city: 'Bergen' })
      const rainy = await test.result(receipt)
      const fork = await test.runtime.fork(receipt, { fromStep: 'think', edits: { 'look outside': 'sun' } })
      return [rainy, await test.result(fork)]
    },
  })
