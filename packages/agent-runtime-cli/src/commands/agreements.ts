import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { table } from '../screen/table.ts'
import { lasting } from '../screen/words.ts'
import { requireTaskTypes } from '../task-types.ts'

export const run: Run = async (call) => {
  const { print } = call
  const settings = await call.settings()
  const types = settings.server === undefined ? await requireTaskTypes(settings, 'agreements') : undefined
  await using connection = await connect(settings, { types })
  const agreements = await connection.agreements.list()
  print.answer({ agreements }, () =>
    agreements.length === 0
      ? ['there is no agreement']
      : table(
          [
            'AGREEMENT',
            'CLIENT',
            'AGENTS',
            'TIER',
            'LANE',
            'ATTEMPT',
            'DEADLINE',
            'PROMISE',
            'OVERSIGHT',
            'OUT OF CREDITS',
          ],
          agreements.map((it) => [
            it.name,
            it.client,
            it.agents?.join(' ') ?? '',
            it.tier ?? '',
            it.lane ?? '',
            it.timeoutMs === undefined ? '' : lasting(it.timeoutMs),
            it.deadlineMs === undefined ? '' : lasting(it.deadlineMs),
            it.latencyMs === undefined ? '' : lasting(it.latencyMs),
            it.oversight ?? '',
            it.outOfCredits ?? '',
          ]),
        ),
  )
  return 0
}
