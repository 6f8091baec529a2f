// The task, crashed after every commit: it comes to the same end, and no recorded step runs again.
import { inProcessGateway } from '@ku0/agent-runtime/gateway'
import { sweepCrashes } from '@ku0/agent-runtime/testing'
import { agent } from '../src/agent.ts'
import { reportTask } from '../src/report.ts'

const report = reportTask(inProcessGateway(agent))
export const tasks = [report]

export const sweep = () =>
  sweepCrashes({
    tasks,
    script: async (test) => test.result(await test.runtime.submit(report, 'A Lamp')),
  })
