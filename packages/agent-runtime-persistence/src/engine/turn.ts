import type {
  Claim,
  LeaseNotice,
  OutputChunk,
  StoredEvent,
  StoreReach,
  StoreSettings,
  WorkerDrain,
} from '@ku0/agent-runtime-core'

/** The messages of one turn of a store to its process: plain data, so that it crosses a thread as it is. */
export interface Turn {
  readonly answers: readonly Answer[]
  readonly claims: readonly Claim[]
  readonly notices: readonly LeaseNotice[]
  readonly events: readonly StoredEvent[]
  readonly chunks: readonly OutputChunk[]
  /** A schedule is due. */
  readonly schedulesDue: boolean
  /** Workers that were drained from outside, or are so no more. */
  readonly drains?: readonly WorkerDrain[]
  /** Other settings of the store are in force than the process knows. */
  readonly settings?: StoreSettings
  /** The database cannot be reached, or can be again. */
  readonly reach?: StoreReach
  /** Set when the store has stopped and cannot go on. */
  readonly failed?: Error
}

/** The answer to one call: its outcome or its error. */
export type Answer =
  | { readonly call: number; readonly value: unknown }
  | { readonly call: number; readonly error: Error }

/** A turn that is being put together. */
export class TurnDraft {
  answers: Answer[] = []
  /** Answers to what was read. They do not wait for the flush that is going on. */
  reads: Answer[] = []
  claims: Claim[] = []
  notices: LeaseNotice[] = []
  events: StoredEvent[] = []
  chunks: OutputChunk[] = []
  schedulesDue = false
  drains: WorkerDrain[] = []
  settings: StoreSettings | undefined
  reach: StoreReach | undefined
  failed: Error | undefined

  /** All that was said since the last time. */
  take(): Turn {
    const { claims, notices, events, chunks, schedulesDue, drains, settings, reach, failed } = this
    const answers = this.reads.length === 0 ? this.answers : [...this.reads, ...this.answers]
    this.answers = []
    this.reads = []
    this.claims = []
    this.notices = []
    this.events = []
    this.chunks = []
    this.schedulesDue = false
    if (drains.length > 0) this.drains = []
    this.failed = undefined
    this.settings = undefined
    this.reach = undefined
    const said = { answers, claims, notices, events, chunks, schedulesDue }
    const turn = {
      ...said,
      ...(drains.length > 0 ? { drains } : {}),
      ...(settings === undefined ? {} : { settings }),
      ...(reach === undefined ? {} : { reach }),
    }
    return failed === undefined ? turn : { ...turn, failed }
  }

  /** The answers to what was read. */
  takeReads(): Turn {
    const { reads } = this
    this.reads = []
    return { answers: reads, claims: [], notices: [], events: [], chunks: [], schedulesDue: false }
  }
}
