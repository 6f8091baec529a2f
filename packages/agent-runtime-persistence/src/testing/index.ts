/**
 * The parts of a store one by one, for a simulation that stands between them: an engine that is given its turns, the front that its
 * process holds, and what passes between the two. A program opens a store instead.
 */
export { StoreEngine, type EngineOptions } from '../engine.ts'
export { StoreFront, type Line, type Message } from '../front.ts'
export { deliver } from '../inline-store.ts'
export type { Answer, Turn } from '../port.ts'
export type { ProcessIdentity } from '../sqlite/processes.ts'
export { chainDigest } from '../system.ts'
