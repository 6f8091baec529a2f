import type { WatchdogSettings } from '@ku0/agent-runtime'
import type { ExecutionConfigInput, Lane } from '@ku0/agent-runtime-core'
import type { ServerLimits } from '@ku0/agent-runtime-server'
import type { JobTarget } from '../jobs/job-target.ts'

/** The settings of `agent-runtime.config.ts`. Source: `docs/cli.md`. */
export interface CliConfig {
  /** The store of all commands, `sqlite:runtime.db` by default. A relative path begins at the folder of the file. */
  readonly store?: string | undefined
  /** The module that exports the task types. A relative path begins at the folder of the file. */
  readonly tasks?: string | undefined
  /** As in `createRuntime`; `full` by default. */
  readonly durability?: 'full' | 'normal' | undefined
  /** The settings of the runtime, as in `createRuntime`. */
  readonly config?: ExecutionConfigInput | undefined
  /** How `agent-runtime worker` runs. */
  readonly worker?:
    | {
        /** `daemon` (the default) runs tasks until it is stopped, `job` runs one, `hybrid` starts a job for each batch task. */
        readonly mode?: 'daemon' | 'job' | 'hybrid' | undefined
        /** The task types that it runs; `*`, the default, is all that the module exports. */
        readonly types?: readonly string[] | undefined
        /** The lanes that it takes tasks from; all by default. */
        readonly lanes?: readonly Lane[] | undefined
        /** The number of tasks at once; `config.maxInFlightPerWorker` by default, and at most if that is set. */
        readonly capacity?: number | undefined
        /** The number of jobs at once of a `hybrid` worker; 1 by default. */
        readonly maxJobs?: number | undefined
        /** Where the jobs of a `hybrid` worker run, such as `kubernetesJobs({ … })` of `@ku0/agent-runtime-cli/jobs`; in child processes by default. */
        readonly jobs?: JobTarget | undefined
      }
    | undefined
  /** The URL of a server: commands ask it in place of a store. */
  readonly server?: string | undefined
  /** How `agent-runtime serve` and `agent-runtime console` serve. */
  readonly serve?:
    | {
        /** 7007 by default; 0 takes a free one. */
        readonly port?: number | undefined
        /** The address to listen on; `127.0.0.1` by default. */
        readonly host?: string | undefined
        /** Further names under which the server is reached. */
        readonly hosts?: readonly string[] | undefined
        /** Paths of what answers and streams do not show, as in `createServer`. */
        readonly redact?: readonly string[] | undefined
        /** Limits of the server, as in `createServer`. The limits of bodies and frames follow `config.maxPayloadBytes`. */
        readonly limits?: Partial<ServerLimits> | undefined
      }
    | undefined
  /** When `agent-runtime check`, and a worker while it runs, report a task. */
  readonly watchdog?: WatchdogSettings | undefined
}

/**
 * Types a configuration file of the command line, and returns it as it is:
 *
 *     export default defineConfig({ store: 'sqlite:tasks.db', tasks: './src/tasks.ts' })
 *
 * The command line checks it when it reads the file: a name that does not exist is an error with a suggestion.
 */
export function defineConfig(config: CliConfig): CliConfig {
  return config
}
