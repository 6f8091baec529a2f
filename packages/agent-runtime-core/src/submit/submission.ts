import type { OversightMode } from '../approval/oversight-mode.ts'
import type { OutOfCredits } from '../share/client.ts'
import type { BudgetTerms } from '../budget/budget.ts'
import type { RejectionReason } from '../event/event.ts'
import type { ProfileTerms } from '../profile/schema.ts'
import type { Lane } from '../task/lane.ts'

/** One submission, its values encoded and its limits checked. */
export interface Submission {
  readonly type: string
  readonly lane: Lane
  /** The input in the codec's form. */
  readonly input: string
  /** An id of the caller's own; a second submission of it is `already_exists`. */
  readonly taskId?: string
  readonly idempotencyKey?: string
  readonly client?: string
  readonly model?: string
  readonly tools?: readonly string[]
  readonly labels?: Readonly<Record<string, string>>
  /** Do not start before this time, epoch ms. */
  readonly dueAt?: number
  /** Do not start before this many ms have passed since the store committed it, by the wall clock. Source: `docs/semantics.md 4.7`. */
  readonly delayMs?: number
  readonly timeoutMs?: number
  /** An estimate, counted by `tokensPerWindow`. */
  readonly tokens?: number
  /** An estimate of what fair shares reckon with, to the millionth; 1 without one. Source: `docs/semantics.md 11.5`. */
  readonly cost?: number
  /** How much a person looks at what it does at the least, whatever its type says. Source: `docs/semantics.md 12.5`. */
  readonly oversight?: OversightMode
  /** Its treatment when its client's credits do not cover its estimate, whatever the shares say. Source: `docs/semantics.md 11.9`. */
  readonly outOfCredits?: OutOfCredits
  /** The profile of its leases, if it differs from the one of its task type. */
  readonly profile?: ProfileTerms
  /** The swarm that it is an agent of, and its name there. It has a `profile` then. Source: `docs/semantics.md 10.6`. */
  readonly swarm?: string
  readonly agent?: string
  /** The amounts that are reserved for it in the swarm's budget; without it, it draws on the rest. */
  readonly share?: { readonly cpuTimeUs?: number; readonly memoryBytes?: number }
  /** Set by the store itself: its caller runs it. */
  readonly held?: true
  /** The amounts that the task and all tasks below it may use up. Source: `docs/semantics.md 11.5`. */
  readonly budget?: BudgetTerms
  /** The submitter's trace context. */
  readonly trace?: Readonly<Record<string, string>>
  /** Set by the store itself. */
  readonly forkOf?: string
  /** Set by the store itself: the fork is a retry. */
  readonly asRetry?: true
  /** Set by the store itself: what the idempotency key of a fork binds besides type and input. */
  readonly forkedAt?: string
  readonly schedule?: string
  readonly scheduledFor?: number
  /** Set by the store itself. */
  readonly parentId?: string
  /** The refusal by the entry point; the submission is recorded as rejected. */
  readonly refused?: { readonly reason: 'unknown_task_type' | 'invalid_payload'; readonly message: string }
}

/** The answer to a submission. */
export type Receipt =
  | {
      readonly accepted: true
      readonly taskId: string
      readonly sequence: number
      /** True when an earlier submission with the same idempotency key answered. */
      readonly deduplicated: boolean
    }
  | {
      readonly accepted: false
      readonly taskId: string
      readonly sequence: number
      readonly reason: RejectionReason
      readonly message: string
      /** As things are set there will never be room for it. */
      readonly forGood?: true
    }
  /** Refused before it became a record: the key or id is taken by another payload or task. */
  | {
      readonly accepted: false
      readonly taskId: string
      readonly sequence: number
      readonly reason: 'idempotency_conflict' | 'already_exists'
      readonly message: string
    }
  /** Refused before it became a record, so that it has no id: the swarm that it names is not there. */
  | {
      readonly accepted: false
      readonly taskId: ''
      readonly sequence: 0
      readonly reason: 'not_found'
      readonly message: string
    }
