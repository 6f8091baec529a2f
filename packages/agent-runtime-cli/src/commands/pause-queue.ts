import type { Lane } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { pausedText } from '../screen/paused.ts'

const pauseOrResume =
  (call: 'pauseQueue' | 'resumeQueue'): Run =>
  async ({ options, print, settings, system }) => {
    const { type: types = [], lane: lanes = [] } = options as {
      readonly type?: readonly string[]
      readonly lane?: readonly Lane[]
    }
    await using client = await connect(await settings())
    if (types.length + lanes.length === 0)
      throw new UsageError('name what is meant: --type TYPE, --lane LANE, or both')
    const changed = await client[call]({ types, lanes })
    const { paused } = await client.stats()
    print.answer({ changed, paused }, () => [
      paused.length === 0 ? 'nothing is paused' : `paused: ${pausedText(paused, system.now())}`,
    ])
    return cliExitCodes.ok
  }

/** The commands that stop and start the queue for some task types and lanes. */
export const queueChanges: Readonly<Record<'pause' | 'resume', Run>> = {
  pause: pauseOrResume('pauseQueue'),
  resume: pauseOrResume('resumeQueue'),
}
