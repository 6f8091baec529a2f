import type { Timing } from '@ku0/agent-runtime'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect } from '../connect.ts'
import { readInput } from '../read-input.ts'
import { scheduleTable } from '../screen/schedules.ts'
import { typesFor } from '../task-types.ts'

interface Options {
  readonly cron?: string
  readonly zone?: string
  readonly every?: number
  readonly input?: string
  readonly agreement?: string
}

export const run: Run = async (call) => {
  const {
    args: [name = '', type = '', given],
    print,
    system,
  } = call
  const options = call.options as Options
  const timing = timingOf(options)
  const input = await readInput(call, given, options.input)
  const settings = await call.settings()
  await using client = await connect(settings, {
    types: await typesFor(settings, options.agreement),
    print,
  })
  const schedule = await client.schedules.put(name, timing, type, input, {
    agreement: options.agreement,
  })
  print.answer(schedule, () => scheduleTable([schedule], system.now()))
  return 0
}

function timingOf({ cron, zone, every }: Options): Timing {
  if ((cron === undefined) === (every === undefined)) throw new UsageError('give either --cron or --every')
  if (every !== undefined) {
    if (zone !== undefined) throw new UsageError('--zone belongs to --cron')
    return { everyMs: every }
  }
  return { cron: cron as string, ...(zone === undefined ? {} : { timeZone: zone }) }
}
