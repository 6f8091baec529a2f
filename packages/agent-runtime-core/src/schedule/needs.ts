import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'
import { runKeyOf } from './schedule.ts'

export function scheduleNeeds(needs: Needs, { name }: { readonly name: string }): void {
  needs.schedule(name)
}

/** Also how many there are, since it may be one more. */
export function putScheduleNeeds(needs: Needs, { name }: Write<'putSchedule'>): void {
  needs.want('counts', 'schedules', 'schedules')
  needs.schedule(name)
}

/** Also the run that has its key. */
export function triggerScheduleNeeds(needs: Needs, it: Write<'triggerSchedule'>): void {
  if (it.idempotencyKey !== undefined) needs.key(it.idempotencyKey)
  needs.schedule(it.name)
}

/** Also its runs, as far as they were submitted before. */
export function fireScheduleNeeds(needs: Needs, { name, runs }: Write<'fireSchedule'>): void {
  for (const dueAt of runs) needs.key(runKeyOf(name, dueAt))
  needs.schedule(name)
}
