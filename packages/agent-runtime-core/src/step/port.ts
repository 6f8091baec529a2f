import type { UsageSum } from '../budget/usage.ts'
import type { OutputChunk } from '../event/event.ts'
import type { Fenced } from '../lease/lease.ts'
import type { BackOff } from '../quota/quota.ts'
import type { StepRecord } from './schema.ts'

/** Writes about steps and what a handler emits. */
export interface StepWrites {
  /** Source: `docs/semantics.md 7`. An existing memo of the key answers and nothing is written. */
  recordStep: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      readonly durationMs: number
      readonly result: string
      /** Its usage. */
      readonly charged?: UsageSum
      readonly inputHash?: string
      /** It is the decision of branches, whose steps have the same position. */
      readonly branches?: 'race' | 'all'
      /** The keys that its branches used up, whatever became of the calls. */
      readonly branchKeys?: readonly string[]
      /** It was called in a branch itself. */
      readonly nested?: boolean
      /** Open waits that nobody waits for any more: those of a race's losers. */
      readonly drops?: readonly string[]
      /** Children of the losers, by key: those that run, and do not outlive their branch, are canceled and forgotten. */
      readonly dropsChildren?: readonly string[]
    }
    outcome: { readonly fenced: 'ok'; readonly memo?: string } | { readonly fenced: 'stale' }
  }
  /** A step is about to run whose effect must not be done twice unseen: the intent, on disk first. Source: `docs/semantics.md 7.6`. */
  startStep: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      readonly inputHash?: string
    }
    outcome: Fenced
  }
  /** A step that failed, finally or until its `retry`-th retry; not a memo. */
  failStep: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      readonly durationMs: number
      readonly error: string
      /** The usage of the try. */
      readonly charged?: UsageSum
      readonly backOff?: BackOff
      readonly retry?: number
      /** Open waits that nobody waits for any more: those beside the branch that failed. */
      readonly drops?: readonly string[]
      readonly dropsChildren?: readonly string[]
    }
    outcome: Fenced
  }
  checkpoint: { fields: { readonly leaseId: string; readonly data: string }; outcome: Fenced }
  appendOutput: {
    fields: {
      readonly leaseId: string
      readonly chunks: readonly string[]
      /** See {@link OutputChunk.round}. */
      readonly round?: number
    }
    outcome: Fenced
  }
  /** Progress of a handler; kept with the lease, not an event. */
  progress: { fields: { readonly leaseId: string; readonly progress: string }; outcome: Fenced }
}

/** The newest checkpoint of a task. */
export interface CheckpointRecord {
  /** The number of its event, `checkpoint.created`. */
  readonly seq: number
  readonly at: number
  readonly data: string
}

/** Reads about steps and what a handler emits. */
export interface StepReads {
  /** Undefined without one, and for one that is not what its event says. */
  checkpoint: { fields: { readonly taskId: string }; answer: CheckpointRecord | undefined }
  /** The steps recorded after the event `after`. While there is a `cursor` there may be more: a page is bounded in the bytes it holds, too. */
  steps: {
    fields: { readonly taskId: string; readonly after: number; readonly limit: number }
    answer: { readonly steps: readonly StepRecord[]; readonly cursor?: number }
  }
  output: {
    fields: { readonly taskId: string; readonly after: number; readonly limit: number }
    answer: readonly OutputChunk[] | undefined
  }
}
