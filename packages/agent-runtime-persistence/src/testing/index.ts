/**
 * The parts of a store one by one, for a simulation that stands between them: an engine that is given its turns, the front that its
 * process holds, and what passes between the two. A program opens a store instead.
 */
export { die, openStoreEngine, type EngineOptions, type StoreEngine } from '../sqlite/store-engine.ts'
export type { Connection } from '../sqlite/connection.ts'
export { runNow } from '../engine/steps.ts'
export { StoreFront, type Line } from '../line/front.ts'
export type { Message } from '../engine/message.ts'
export type { Answer, Turn } from '../engine/turn.ts'
export type { ProcessIdentity } from '../process-identity.ts'
export { chainDigest } from '../system.ts'
