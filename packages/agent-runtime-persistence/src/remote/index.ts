/**
 * What passes between a store and the processes on its lines, for the end of a line that a server holds. A worker opens a store by its URL instead.
 *
 * @module @ku0/agent-runtime-persistence/lines
 */

export { linesOf, type StoreLines } from '../line/store-lines.ts'
export type { HeldLease } from '../engine/engine.ts'
export type { LineCall } from '../engine/line-answers.ts'
export { pack, recordOf, unpack } from '../line/thread-messages.ts'
export { openLine } from './open-remote.ts'
export {
  LINE_PATH,
  LINE_VERSION,
  type DownFrame,
  type Hello,
  type HelloWorker,
  type LineOffer,
  type UpFrame,
  type UpMessage,
  type Welcome,
} from './protocol.ts'
export type { Dial, Transport, TransportHearer } from './transport.ts'
export { RemoteLine, type RemoteLineParts } from './remote-line.ts'
