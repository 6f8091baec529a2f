import type { Interest, Read, Write } from '@ku0/agent-runtime-core'
import type { LineCall } from './line-answers.ts'

/** A message of the front of a store to its engine. */
export type Message =
  | { readonly to: 'write'; readonly call: number; readonly operation: Write; readonly from?: LineCall }
  | { readonly to: 'read'; readonly call: number; readonly query: Read }
  | { readonly to: 'demand'; readonly workerId: string; readonly credit: number; readonly given?: number }
  | { readonly to: 'interest'; readonly interest: Interest }
  /** Workers whose line is silent: their leases are not renewed, and they are given nothing, until their demand is stated again. */
  | { readonly to: 'absent'; readonly workerIds: readonly string[] }
  /** Which live leases workers have. */
  | { readonly to: 'held'; readonly call: number; readonly workerIds: readonly string[] }
