// The pipeline and the batch, crashed after every commit: they come to the same report, and nothing that was recorded is done again.
import { sweepCrashes } from '@ku0/agent-runtime/testing'
import { batchTask } from '../src/batch.ts'
import * as pipeline from '../src/pipeline.ts'
import { startSite } from '../src/site.ts'

const batch = batchTask()
export const tasks = [...pipeline.tasks, batch]

/** Both test a small site, which is another one in each run. */
export const sweep = (every = 1) =>
  sweepCrashes({
    tasks,
    every,
    // Its pages are real requests: no limit of time may come before their answers.
    patienceMs: 2_000,
    script: async (test) => {
      await using site = await startSite({ pages: 3, pageMs: 0, apiMs: 0 })
      const input = { site: site.url }
      return [await test.run(pipeline.webTesting, input), await test.run(batch, input)]
    },
  })
