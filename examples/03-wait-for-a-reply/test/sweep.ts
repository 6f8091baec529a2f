// The task, crashed after every commit: it comes to the same end, and no recorded step runs again.
import { sweepCrashes } from '@ku0/agent-runtime/testing'
import { offer } from '../src/offer.ts'

export const tasks = [offer]

/** Nobody answers on the first day; Grace does on the second. */
export const sweep = () =>
  sweepCrashes({
    tasks,
    script: async (test) => {
      const receipt = await test.runtime.submit(offer, { customer: 'Ada' })
      await test.until(receipt, 'waiting')
      await test.advance(25 * 60 * 60 * 1_000)
      await test.runtime.signal(receipt, 'reply', { approve: true, by: 'Grace' })
      return test.result(receipt)
    },
  })
