import type { Lane, ResourceLimits, SwarmRecord } from '@ku0/agent-runtime-core'
import type { SubmitOptions } from './submissions.ts'
import type { Receipt } from './receipts.ts'
import type { TaskType } from './task-type.ts'
import type { ProfileSetting, UsageProbe } from './profiles.ts'
import type { TaskLease } from './leases.ts'

/** What a swarm is. Source: rfc-0010-workload-profiles, Swarm Registration; `docs/semantics.md 10.6`. */
export interface SwarmOptions {
  /** That of the route by default, else `STANDARD`. Each of its agents is held to it. */
  readonly profile?: ProfileSetting | undefined
  readonly limits?: ResourceLimits | undefined
  /** Its name in the store; the route by default. */
  readonly name?: string | undefined
  /** Agents that have not ended; 10 by default. */
  readonly maxAgents?: number | undefined
  /** What all agents have together; what is not named is not limited. */
  readonly sharedBudget?:
    | { readonly totalCpuTimeUs?: number | undefined; readonly totalMemoryBytes?: number | undefined }
    | undefined
  /** The mean pressure above which it is overloaded, above 0 and at most 1; 0.8 by default. */
  readonly threshold?: number | undefined
}

/** How an agent is spawned, whichever kind it is. */
export interface AgentSettings {
  /** The lowest lane is shed first; `normal` by default, and for a task what that says. */
  readonly lane?: Lane | undefined
  /** What it is promised of the shared budget, and held to; without, it draws on the rest. */
  readonly share?:
    | { readonly cpuTimeUs?: number | undefined; readonly memoryBytes?: number | undefined }
    | undefined
  /** Quotas of labels count it; what a caller runs never waits for one, and is refused. */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** An agent that its caller runs. */
export interface HeldAgentOptions extends AgentSettings {
  /** One is made where none is given: {@link TaskLease.signal} tells when to stop. */
  readonly abortController?: AbortController | undefined
  /** Ms; the profile's `maxDurationMs` where that is less. */
  readonly timeout?: number | undefined
  readonly measure?: UsageProbe | undefined
}

/** What an agent that is a task has of a submission: on whose account it runs, and what that may use up. */
export type AgentAccount = Pick<
  SubmitOptions,
  'client' | 'model' | 'tools' | 'tokens' | 'cost' | 'budget' | 'timeoutMs' | 'idempotencyKey'
>

/** An agent that is a task of the queue. The same `idempotencyKey` with the same task and input gets the first agent's receipt. */
export interface TaskAgentOptions<Input> extends AgentSettings, AgentAccount {
  readonly task: TaskType<string, Input> | string
  readonly input: Input
}

/**
 * Agents that share a budget and a fate: a record of the store, which any process may join by its name. Its agents go on when a process
 * ends, as far as they are tasks of the queue; those that callers held fail with it. Source: `docs/semantics.md 10.6`.
 */
export interface Swarm {
  readonly name: string
  readonly route: string

  /**
   * Spawns an agent; `id` is its name, which no other living agent has (`already_exists`). With a `task` that is submitted, and its
   * receipt is the answer, also when the swarm refuses it (`swarm_full`, `swarm_overloaded`, `circuit_open`, `budget_exceeded`). Without
   * one the caller runs it under a lease; a refusal is thrown as `TaskRejected` then.
   */
  spawnAgent<Input, Output>(
    id: string,
    options: Omit<TaskAgentOptions<Input>, 'task'> & { readonly task: TaskType<string, Input, Output> },
  ): Promise<Receipt<Output>>
  spawnAgent(id: string, options: TaskAgentOptions<unknown> & { readonly task: string }): Promise<Receipt>
  spawnAgent(id: string, options?: HeldAgentOptions): Promise<TaskLease>

  /** Its agents, their pressure and what is left of the budget. Throws `not_found` once it was closed. */
  status(): Promise<SwarmRecord>
  /** Cancels its agents and forgets it. False when it was closed before. */
  close(): Promise<boolean>
}
