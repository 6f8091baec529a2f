import type { TaskDefinition } from '@ku0/agent-runtime'
import type { Call } from '../call.ts'
import type { Settings } from '../settings/settings.ts'
import type { Readiness } from './readiness.ts'

/** The means that each mode works with. */
export interface WorkerCall {
  readonly call: Call
  readonly settings: Settings
  /** The path of the module. */
  readonly file: string
  /** The task types that it runs. */
  readonly tasks: readonly TaskDefinition[]
  /** Where it shows whether it takes tasks. */
  readonly ready: Readiness
}
