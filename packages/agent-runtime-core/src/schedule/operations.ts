import {
  putSchedule,
  pauseSchedule,
  resumeSchedule,
  removeSchedule,
  fireSchedule,
  triggerSchedule,
} from './transitions.ts'
import { fireScheduleNeeds, putScheduleNeeds, scheduleNeeds, triggerScheduleNeeds } from './needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { ScheduleWrites } from './port.ts'

export const scheduleOperations: Operations<ScheduleWrites> = {
  putSchedule: { rank: 3, needs: putScheduleNeeds, fold: putSchedule },
  pauseSchedule: { rank: 3, needs: scheduleNeeds, fold: pauseSchedule },
  resumeSchedule: { rank: 3, needs: scheduleNeeds, fold: resumeSchedule },
  removeSchedule: { rank: 3, needs: scheduleNeeds, fold: removeSchedule },
  fireSchedule: { rank: 3, needs: fireScheduleNeeds, fold: fireSchedule },
  triggerSchedule: { rank: 3, needs: triggerScheduleNeeds, fold: triggerSchedule },
}
