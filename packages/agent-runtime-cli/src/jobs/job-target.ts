import type { Lane } from '@ku0/agent-runtime-core'

/**
 * A place that starts processes of workers in mode `job`, each for one task: child processes, containers, jobs of a cluster, functions.
 *
 * A target only starts processes. Which task a job runs, and what becomes of it, is decided by the claim and the lease in the store. So a
 * job that never starts leaves its task queued, one that starts twice takes a second task or finds nothing to do, and the task of a job
 * that dies is run again once its lease has ended. A target needs no memory, and may be wrong about the state of a job.
 */
export interface JobTarget {
  /** The name of the target, such as `kubernetes`: messages and handles have it. */
  readonly name: string
  /** Starts one job, and returns its handle as soon as the service has accepted it. Rejects if the service refused it or could not be reached; the job may have started even then. */
  readonly start: (task: JobTask) => Promise<JobHandle>
  /** Asks a job to end in order. True if the service accepted that; false if the job is gone, or if the service cannot stop a job. */
  readonly stop: (handle: JobHandle) => Promise<boolean>
  /** The state that the service reports for a job. `unknown` if it does not say. */
  readonly state: (handle: JobHandle) => Promise<JobState>
}

/** Why a job is started. The job itself takes the task that is first in the queue, which may be another one. */
export interface JobTask {
  /** The queued task. */
  readonly taskId: string
  readonly type: string
  /** The types that the job may take. */
  readonly types: readonly string[]
  /** The lanes that the job may take tasks from. */
  readonly lanes: readonly Lane[]
}

/** A started job: plain data, that another process can use with a target of the same options. */
export interface JobHandle {
  /** The name of the target. */
  readonly target: string
  /** The service's name for the job. */
  readonly id: string
}

/**
 * `starting`: accepted, and no process yet. `running`, `succeeded` (exit code 0), `failed`: as the service says. `gone`: the service
 * does not know the job, or does not know it any more. `unknown`: the service does not say.
 */
export type JobState = 'starting' | 'running' | 'succeeded' | 'failed' | 'gone' | 'unknown'

/** The arguments of `agent-runtime` with which a process takes one task of these types and lanes, runs it and ends. The store, the module and the token come from the environment and the configuration file of the image. */
export function jobArguments({ types, lanes }: Pick<JobTask, 'types' | 'lanes'>): readonly string[] {
  const taken = ['--types', types.join(','), '--lanes', lanes.join(',')]
  // A task that waits is queued again by the store, and then gets another job.
  return ['worker', '--mode', 'job', ...taken, '--waiting-exit', '0', '--json']
}
