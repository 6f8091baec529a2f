import type { Interest, Read, Write } from '@ku0/agent-runtime-core'
import type { StoreEngine } from '../sqlite/store-engine.ts'

/** What the front of a store hands to its engine. */
export type Message =
  | { readonly to: 'write'; readonly call: number; readonly operation: Write }
  | { readonly to: 'read'; readonly call: number; readonly query: Read }
  | { readonly to: 'demand'; readonly workerId: string; readonly credit: number }
  | { readonly to: 'interest'; readonly interest: Interest }

/** One message to an engine in this thread. */
export function deliver(engine: StoreEngine, message: Message): void {
  switch (message.to) {
    case 'write':
      return engine.write(message.call, message.operation)
    case 'read':
      return engine.read(message.call, message.query)
    case 'demand':
      return engine.setDemand(message.workerId, message.credit)
    case 'interest':
      return engine.setInterest(message.interest)
  }
}
