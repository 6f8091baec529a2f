// The task, crashed after every commit: it comes to the same end, and no recorded step runs again.
import { sweepCrashes, type TestRuntime } from '@ku0/agent-runtime/testing'
import { announcement } from '../src/announcement.ts'

export const tasks = [announcement]

/** Ada approves the facts; Grace rejects the first text and approves the second. */
export const sweep = () =>
  sweepCrashes({
    tasks,
    script: async (test) => {
      const { approvals } = test.runtime
      const receipt = await test.runtime.submit(announcement, { product: 'The lamp' })
      const asked = async () => {
        await test.until(receipt, 'waiting')
        return openApproval(test)
      }
      const facts = await asked()
      await approvals.approve(facts.approvalId, { by: 'Ada' })
      const loud = await asked()
      await approvals.reject(loud.approvalId, { by: 'Grace', feedback: 'calmer, please' })
      const calm = await asked()
      await approvals.approve(calm.approvalId, { by: 'Grace' })
      return [facts.artifact, loud.artifact, calm.artifact, await test.result(receipt)]
    },
  })

/** The one approval that is asked for. */
async function openApproval(test: TestRuntime) {
  const [approval] = (await test.runtime.approvals.list()).approvals
  if (approval === undefined) throw new Error('nobody is asked for an approval')
  return approval
}
