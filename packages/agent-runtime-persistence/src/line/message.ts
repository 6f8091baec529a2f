import type { Interest, Read, Write } from '@ku0/agent-runtime-core'
import type { LineCall } from '../engine/line-answers.ts'
import type { StoreEngine } from '../sqlite/store-engine.ts'

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

/** One message to an engine in this thread. */
export function deliver(engine: StoreEngine, message: Message): void {
  switch (message.to) {
    case 'write':
      return engine.write(message.call, message.operation, message.from)
    case 'read':
      return engine.read(message.call, message.query)
    case 'demand':
      return engine.setDemand(message.workerId, message.credit, message.given)
    case 'interest':
      return engine.setInterest(message.interest)
    case 'absent':
      return engine.setAbsent(message.workerIds)
    case 'held':
      return engine.tellHeld(message.call, message.workerIds)
  }
}
