import type { ExecutionConfig, ExecutionConfigInput, Timers } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'
import type { Answer, Message, Turn } from '@ku0/agent-runtime-persistence/testing'
import type { Audited } from './audited.ts'

/** A bug that is planted into a simulated life from outside: on the line, in the tables, in the timers, or in what an engine is opened with. */
export interface Plant {
  /** What an engine goes by instead of the configuration that it should. */
  config?(given: ExecutionConfigInput): ExecutionConfigInput
  /** What becomes of a message: what arrives, and what is answered instead. */
  send?(message: Message, process: Audited): readonly (Message | Answer)[]
  beforeTurn?(process: Audited): void
  afterTurn?(process: Audited, turn: Turn): void
  /** What of a turn, or of what was read, reaches its process. */
  tell?(turn: Turn): Turn
  /** The ids of the workers of the n-th process, from 1. */
  workerIds?(count: number, process: number): readonly string[]
  /** What a runtime arms its timers with instead of what it should. */
  timers?(given: Timers): Timers
}

/** What a planted bug works on. */
export interface Ground {
  readonly path: string
  readonly random: SeededRandom
  /** Processes at once. */
  readonly processes: number
  /** Ms since the beginning. */
  readonly now: () => number
  readonly config: ExecutionConfig
}

/** A planted bug and what lets go of its connection. */
export type Planted = Plant & Disposable

/** The configuration that an engine with this bug goes by. */
export function configOf(given: ExecutionConfigInput, plant: Plant | undefined): ExecutionConfig {
  return parseExecutionConfig(plant?.config?.(given) ?? given).config
}
