import type { StoreEnd } from './collect.ts'
import type { ResourceCount } from './resources.ts'
import type { Note } from './notes.ts'
import type { Fault, Scenario } from '../scenario/scenario.ts'

/** What a host needs to know before anything else. */
export interface HostOptions {
  readonly scenario: Scenario
  readonly seed: number
  readonly processName: string
  /** `sqlite:/path/to/file.db`, `sqlite::memory:` or `postgres://…?schema=…`. */
  readonly store: string
  /** The scenario's folder. */
  readonly folder: string
  /** Whether its workers begin as soon as it is open. */
  readonly startsWorkers: boolean
  readonly openGates: readonly string[]
  readonly trace: { readonly file: string; readonly speedup: number } | undefined
}

/** What a host can be asked for, each with its answer. One JSON text a line goes each way over the process's channel. */
export interface Requests {
  /** Opens the runtime. Its workers start with it, unless the scenario has them start later. */
  open: { fields: { readonly options: HostOptions }; answer: OpenedRuntime }
  startWorkers: { fields: Record<never, never>; answer: { readonly at: number } }
  /** Sets the scenario's clients. */
  setClients: { fields: Record<never, never>; answer: null }
  /** This host's share of an arrival. Answers when every submission was answered. */
  submit: {
    fields: { readonly arrival: number; readonly share: { readonly index: number; readonly of: number } }
    answer: null
  }
  cancel: { fields: { readonly taskIds: readonly string[] }; answer: readonly CancelNote[] }
  /** Calls of the runtime, one after the other; `fault` is the place of the first in the scenario. */
  call: { fields: { readonly fault: number }; answer: null }
  /** Answers every budget that asks; with how many there were. */
  answerBudgets: {
    fields: { readonly answer: Extract<Fault, { do: 'answer-budgets' }> }
    answer: number
  }
  openGate: { fields: { readonly gate: string }; answer: null }
  /** Whether anything is left to do. */
  pending: { fields: Record<never, never>; answer: PendingWork }
  /** Counts what this process holds at the moment; waits a little for it to come down to `baseline`, when there is one. */
  resources: { fields: { readonly baseline?: ResourceCount }; answer: ResourceCount }
  /** Writes every fact of a store in memory into a file of JSON lines, and answers with what it says of itself. */
  collect: { fields: { readonly file: string }; answer: StoreEnd }
  /** Stops the runtime and counts once more. */
  close: { fields: Record<never, never>; answer: ClosedRuntime }
}
export type RequestKind = keyof Requests
export type Request<K extends RequestKind = RequestKind> = {
  [P in K]: { readonly id: number; readonly kind: P } & Requests[P]['fields']
}[K]
export type Answer<K extends RequestKind> = Requests[K]['answer']

/** What a host says. */
export type HostMessage =
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refused'; readonly id: number; readonly message: string }
  | { readonly kind: 'notes'; readonly notes: readonly Note[] }

export interface OpenedRuntime {
  /** From the start of the process to an open runtime. */
  readonly openMs: number
  readonly storeKind: string
  readonly durability: string
  readonly versions: Readonly<Record<string, string>>
  readonly processId: string
}

export interface ClosedRuntime {
  /** Writes of this process that were refused because their lease was gone. */
  readonly staleWrites: number
  /** No-op tasks entered in this process, and entries beyond the first of each. */
  readonly visits: { readonly entered: number; readonly repeated: number }
  /** What the process held before its runtime was opened, and after it was stopped. */
  readonly before: ResourceCount
  readonly after: ResourceCount
}

interface PendingWork {
  readonly queued: number
  readonly delayed: number
  readonly running: number
  readonly waiting: number
}

/** One cancellation, as the caller saw it. */
export interface CancelNote {
  readonly taskId: string
  /** The call of `cancel`. */
  readonly at: number
  readonly acknowledgedAt: number
  readonly canceled: boolean
  /** The task's state, asked for right after the acknowledgement. */
  readonly stateAfter: string
}
