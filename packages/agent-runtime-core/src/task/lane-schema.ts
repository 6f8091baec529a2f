import { z } from 'zod'
import { lanes } from './lane.ts'

/** One lane: `interactive` before `normal` before `batch`, strictly. */
export const Lane = z.enum(lanes)
export type Lane = z.infer<typeof Lane>
