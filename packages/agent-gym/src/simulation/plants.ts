import type { ExecutionConfig } from '@ku0/agent-runtime-core'
import type { Answer, Message, Turn } from '@ku0/agent-runtime-persistence/testing'
import type { Audited } from './audit.ts'

/** A bug that is planted into a simulated life, from outside: on the line, in the tables, or in what an engine is opened with. */
export interface Plant {
  /** What an engine goes by instead of the configuration that it should. */
  config?(config: ExecutionConfig): ExecutionConfig
  /** What becomes of a message: what arrives, or what is answered instead. */
  send?(message: Message, process: Audited): readonly (Message | Answer)[]
  beforeTurn?(process: Audited): void
  afterTurn?(process: Audited, turn: Turn): void
  /** What of a turn reaches its process. */
  tell?(turn: Turn): Turn
  workerIds?(count: number): readonly string[]
}
