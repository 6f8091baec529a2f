import type { OutputChunk } from '../event/event.ts'
import type { StageViolation } from './check.ts'
import type { LogRange, PipelineTerms, TakenEvents } from './pipeline.ts'
import type { TaskState } from '../task/states.ts'
import type { PipelineLog } from './log.ts'

/** Writes about pipelines. Each is a step of the task that asks: a key that has its memo answers with it, and nothing is written. */
export interface PipelineWrites {
  /** The holder's task becomes a pipeline, before it spawns its stages. Source: `docs/semantics.md 13.1`. */
  openPipeline: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      readonly terms: PipelineTerms
    }
    outcome:
      | { readonly fenced: 'ok'; readonly as: 'open' }
      | { readonly fenced: 'ok'; readonly as: 'invalid'; readonly violations: readonly StageViolation[] }
      | { readonly fenced: 'stale' }
  }
  /** Events of a stage, in order, all or none of them. Source: `docs/semantics.md 13.2`. */
  publish: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      /** The type of all, or by event. */
      readonly type: string | readonly string[]
      readonly events: readonly string[]
      /** By event: the hash of its key, as `keyHash` makes it; null, or absent, for an event without a key. */
      readonly keyHashes?: readonly (number | null)[] | undefined
    }
    outcome:
      | ({ readonly fenced: 'ok'; readonly as: 'published' } & Room)
      /** Nothing was written: a stage has too many of this type to receive. */
      | { readonly fenced: 'ok'; readonly as: 'no_room'; readonly type: string }
      | StageRefusal
      | { readonly fenced: 'stale' }
  }
  /** The next events of some types for a stage, `max` at the most. A type is named once. Source: `docs/semantics.md 13.2`. */
  receive: {
    fields: {
      readonly leaseId: string
      readonly key: string
      readonly position: number
      readonly types: readonly string[]
      readonly max: number
    }
    outcome:
      | ({ readonly fenced: 'ok'; readonly as: 'received' } & TakenEvents & Room)
      /** Nothing was written: there are none now. */
      | { readonly fenced: 'ok'; readonly as: 'none' }
      | StageRefusal
      | { readonly fenced: 'stale' }
  }
}

/** The room that is left after a write. */
interface Room {
  /** The types of the write of which no event is taken now; absent if there is none. */
  readonly full?: readonly string[]
}

/** The task is no stage of a pipeline, or its stage does not have the type. Nothing was written. */
export type StageRefusal =
  | { readonly fenced: 'ok'; readonly as: 'unknown_stage' }
  | {
      readonly fenced: 'ok'
      readonly as: 'unauthorized'
      readonly stage: string
      readonly type: string
      readonly allowed: readonly string[]
    }

/** Questions about pipelines. */
export interface PipelineReads {
  /** The pipeline that a task is, or is a stage of. */
  pipeline: { fields: { readonly taskId: string }; answer: PipelineRecord | undefined }
  /** A page of the pipelines, newest first. `before`: the cursor of the page before. */
  pipelines: {
    fields: { readonly limit: number; readonly before?: number | undefined }
    answer: { readonly pipelines: readonly PipelineRecord[]; readonly cursor?: number }
  }
  /**
   * The log of the pipeline that a task is, or is a stage of; undefined for another task. `ranges`: only events of these stretches, which are in
   * order, so that a partition reads past none of the others.
   */
  pipelineEvents: {
    fields: {
      readonly taskId: string
      readonly after: number
      readonly limit: number
      readonly ranges?: readonly LogRange[] | undefined
    }
    answer: readonly OutputChunk[] | undefined
  }
}

/** A pipeline, and how far its stages have come. */
export interface PipelineRecord {
  readonly taskId: string
  /** The task type of the pipeline. */
  readonly type: string
  /** The stage, if the question was about a task of one. */
  readonly stage?: string
  /** The partition that this task is, in a stage with several. */
  readonly partition?: number
  /** The state of its task. */
  readonly state: TaskState
  readonly terms: PipelineTerms
  /** The sequence of the last event, 0 before the first. */
  readonly seq: number
  /** By type: how many events were published. */
  readonly published: PipelineLog['published']
  /** In the order of the terms. */
  readonly stages: readonly StageRecord[]
}

/** A stage of a pipeline, and how far it has come. */
export interface StageRecord {
  readonly stage: string
  /** Whether all its tasks have completed. */
  readonly ended: boolean
  /** By type: how many events it has received. */
  readonly taken: Readonly<Record<string, number>>
  /** By type: how many events its tasks have to receive now; a type of which there are none is absent. */
  readonly unread: Readonly<Record<string, number>>
  /** The types that it cannot publish now, because a task of a stage has `maxUnread` of them to receive. Empty once its tasks are over. */
  readonly heldBack: readonly string[]
  /** Its tasks: one, or one for each partition in order. */
  readonly tasks: readonly StageTaskRecord[]
}

/** A task of a stage, and how far it has come. */
export interface StageTaskRecord {
  /** From 1; absent in a stage that is one task. */
  readonly partition?: number
  /** Its id and its state; absent until it was spawned. */
  readonly taskId?: string
  readonly state?: TaskState
  readonly ended: boolean
  /** By type: how many events it has received. */
  readonly taken: Readonly<Record<string, number>>
  /** By type: how many events it has to receive now; a type of which there are none is absent. */
  readonly unread: Readonly<Record<string, number>>
}
