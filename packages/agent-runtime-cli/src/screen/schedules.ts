import type { ScheduleStatus } from '@ku0/agent-runtime'
import type { Line } from './printer.ts'
import { table } from './table.ts'
import { ago, count, lasting } from './words.ts'

/** Schedules as a table. */
export function scheduleTable(schedules: readonly ScheduleStatus[], now: number): readonly Line[] {
  return table(
    ['SCHEDULE', 'TIMES', 'TASK', 'NEXT', 'LAST', 'RUNS', 'REFUSED', 'MISSED'],
    schedules.map(({ name, timing, task, paused, nextAt, lastAt, runs, rejected, missed }) => [
      name,
      'cron' in timing ? `${timing.cron} ${timing.timeZone}` : `every ${lasting(timing.everyMs)}`,
      task,
      paused
        ? { text: 'paused', style: 'yellow' as const }
        : nextAt === undefined
          ? 'never'
          : ago(nextAt, now),
      lastAt === undefined ? '' : ago(lastAt, now),
      count(runs),
      rejected === 0 ? '' : count(rejected),
      missed === 0 ? '' : count(missed),
    ]),
  )
}
