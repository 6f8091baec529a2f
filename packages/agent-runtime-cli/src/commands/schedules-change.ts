import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { printReceipt } from '../screen/receipt.ts'
import { scheduleTable } from '../screen/schedules.ts'
import { RuntimeError } from '@ku0/agent-runtime-core'

const pauseOrResume =
  (what: 'pause' | 'resume'): Run =>
  async ({ args: [name = ''], print, settings, system }) => {
    await using client = await connect(await settings())
    const schedule = await client.schedules[what](name)
    print.answer(schedule, () => scheduleTable([schedule], system.now()))
    return cliExitCodes.ok
  }

/** The commands that change one schedule. */
export const changes: Readonly<Record<'pause' | 'resume' | 'trigger' | 'remove', Run>> = {
  pause: pauseOrResume('pause'),
  resume: pauseOrResume('resume'),
  trigger: async ({ args: [name = ''], print, settings }) => {
    await using client = await connect(await settings())
    const receipt = await client.schedules.trigger(name)
    printReceipt(print, receipt)
    return receipt.accepted ? cliExitCodes.ok : cliExitCodes.failed
  },
  remove: async ({ args: [name = ''], print, settings }) => {
    await using client = await connect(await settings())
    if (!(await client.schedules.remove(name)))
      throw new RuntimeError('not_found', `no schedule has the name ${name}`, { details: { name } })
    print.answer({ name, removed: true }, () => [`schedule ${name} removed`])
    return cliExitCodes.ok
  },
}
