import { type Environment, type ExecutionConfig } from '@ku0/agent-runtime-core'
import type { Surroundings } from '@ku0/agent-runtime-core/transition'
import type { GivenStance } from '../stance.ts'

export interface EngineSetting extends GivenStance {
  readonly config: ExecutionConfig
  readonly environment: Environment
  /** sha256 of a digest followed by a text. */
  readonly chain: Surroundings['chain']
  /** Ms since the process's event loop last showed life; renewal stops when that exceeds `maxStallMs`. */
  readonly stalledMs: () => number
}
