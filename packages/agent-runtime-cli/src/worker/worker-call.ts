import type { TaskDefinition } from '@ku0/agent-runtime'
import type { Call } from '../call.ts'
import type { Settings } from '../settings/settings.ts'

/** What each mode works with. */
export interface WorkerCall {
  readonly call: Call
  readonly settings: Settings
  /** The path of the module. */
  readonly file: string
  /** The task types that it runs. */
  readonly tasks: readonly TaskDefinition[]
  /** The process runs tasks from now on, or does not any more. */
  readonly ready: (isReady: boolean) => void
}
