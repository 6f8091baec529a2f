import type { Lane, ResourceLimits, SwarmRecord } from '@ku0/agent-runtime-core'
import type { SubmitOptions } from './submissions.ts'
import type { Receipt } from './receipts.ts'
import type { TaskType } from './task-type.ts'
import type { ProfileSetting, UsageProbe } from './profiles.ts'
import type { TaskLease } from './leases.ts'

/** Options of a swarm. Source: rfc-0010-workload-profiles, Swarm Registration; `docs/semantics.md 10.6`. */
export interface SwarmOptions {
  /** The route's profile by default, else `STANDARD`. It applies to each agent. */
  readonly profile?: ProfileSetting | undefined
  readonly limits?: ResourceLimits | undefined
  /** Its name in the store; the route by default. */
  readonly name?: string | undefined
  /** The most agents that have not ended; 10 by default. */
  readonly maxAgents?: number | undefined
  /** The amounts that all agents may use together; an amount that is not named is not limited. */
  readonly sharedBudget?:
    | { readonly totalCpuTimeUs?: number | undefined; readonly totalMemoryBytes?: number | undefined }
    | undefined
  /** The mean pressure above which the swarm is overloaded, above 0 and at most 1; 0.8 by default. */
  readonly threshold?: number | undefined
}

/** Options of an agent, whichever kind it is. */
export interface AgentSettings {
  /**
   * An overloaded swarm cancels agents of the lowest lane first; `normal` by default, and for a task the lane
   * of the task.
   */
  readonly lane?: Lane | undefined
  /**
   * The part of the shared budget that is reserved for the agent and limits it. Without it, the agent draws
   * on the rest.
   */
  readonly share?:
    | { readonly cpuTimeUs?: number | undefined; readonly memoryBytes?: number | undefined }
    | undefined
  /** Quotas of labels count it. An agent that its caller runs never waits for a quota; it is refused. */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** An agent that its caller runs. */
export interface HeldAgentOptions extends AgentSettings {
  /** Created if it is not given: {@link TaskLease.signal} then says when to stop. */
  readonly abortController?: AbortController | undefined
  /** In ms; the profile's `maxDurationMs` if that is less. */
  readonly timeout?: number | undefined
  readonly measure?: UsageProbe | undefined
}

/** Options of an agent that is a task: on whose account it runs, and what that may use up. */
export type AgentAccount = Pick<
  SubmitOptions,
  'client' | 'model' | 'tools' | 'tokens' | 'cost' | 'budget' | 'timeoutMs' | 'idempotencyKey'
>

/**
 * An agent that is a task of the queue. The same `idempotencyKey` with the same task and input returns the
 * first agent's receipt.
 */
export interface TaskAgentOptions<Input> extends AgentSettings, AgentAccount {
  readonly task: TaskType<string, Input> | string
  readonly input: Input
}

/**
 * Agents that share a budget and fail together. A swarm is a record of the store, which any process may join
 * by its name. If a process ends, agents that are tasks of the queue go on; agents that the process ran
 * itself fail. Source: `docs/semantics.md 10.6`.
 */
export interface Swarm {
  readonly name: string
  readonly route: string

  /**
   * Spawns an agent; `id` is its name, which no other living agent may have (`already_exists`). With a
   * `task`, that is submitted and its receipt is returned, even if the swarm refuses it (`swarm_full`,
   * `swarm_overloaded`, `circuit_open`, `budget_exceeded`). Without one the caller runs the agent under a
   * lease, and a refusal is thrown as `TaskRejected`.
   */
  spawnAgent<Input, Output>(
    id: string,
    options: Omit<TaskAgentOptions<Input>, 'task'> & { readonly task: TaskType<string, Input, Output> },
  ): Promise<Receipt<Output>>
  spawnAgent(id: string, options: TaskAgentOptions<unknown> & { readonly task: string }): Promise<Receipt>
  spawnAgent(id: string, options?: HeldAgentOptions): Promise<TaskLease>

  /** Its agents, their pressure and what is left of the budget. Throws `not_found` after it was closed. */
  status(): Promise<SwarmRecord>
  /** Cancels its agents and forgets it. Returns false if it was already closed. */
  close(): Promise<boolean>
}
