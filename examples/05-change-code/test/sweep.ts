// The task, crashed after every commit: it comes to the same end, and no recorded step runs again.
import { defineTask } from '@ku0/agent-runtime'
import { sweepCrashes, type TestRuntime } from '@ku0/agent-runtime/testing'
import { careful, careless, first } from '../src/order.ts'

/** The version that is deployed: what goes through an order's code anew goes through this one's. */
let deployed = first

const order = defineTask({ type: first.type, input: first.input }, (ctx, input) =>
  deployed.handler(ctx, input as never),
)

export const tasks = [order]

/** The order of the lamp lives through all three versions, that of the desk comes to the last. */
export const sweep = () =>
  sweepCrashes({
    tasks,
    script: async (test) => {
      deployed = first
      const lamp = await test.runtime.submit(order, { item: 'lamp' })
      await untilItWaits(test, lamp.taskId, 'signal')

      deployed = careless
      await test.runtime.signal(lamp, 'packed')
      await untilItWaits(test, lamp.taskId, 'divergence')

      deployed = careful
      await test.runtime.resume(lamp)
      const desk = await test.runtime.submit(order, { item: 'desk' })
      await test.runtime.signal(desk, 'packed')
      return [await test.result(lamp), await test.result(desk)]
    },
  })

async function untilItWaits(test: TestRuntime, taskId: string, reason: string): Promise<void> {
  await test.until(taskId, (status) => status.state === 'waiting' && status.waitingFor === reason)
}
