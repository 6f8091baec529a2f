/**
 * The parts of a store one by one, for a simulation that stands between them: an engine that is given its turns, the front that its
 * process holds, and what passes between the two. A program opens a store instead.
 */
export { StoreEngine, type Connection, type EngineOptions } from '../sqlite/store-engine.ts'
export { StoreFront, type Line } from '../line/front.ts'
export { deliver, type Message } from '../line/message.ts'
export type { Answer, Turn } from '../engine/turn.ts'
export type { ProcessIdentity } from '../process-identity.ts'
export { chainDigest } from '../system.ts'
