import type { PipelineRecord, StageViolation } from '@ku0/agent-runtime-core'
import type { Schemas } from './exchange.ts'
import type { InputOf, OutputOf } from './schema.ts'

/** An event of a pipeline. */
export interface PipelineEvent<Type extends string = string, Data = unknown> {
  /** Its place in the log of the pipeline, from 1, without gaps. */
  readonly sequence: number
  readonly type: Type
  /** The stage that published it. */
  readonly stage: string
  /** The partition of that stage, from 1; absent if the stage has none. */
  readonly partition?: number
  /** The hash of its key, 0 to 1023: events of one key have the same. Absent if it was published without a key. */
  readonly keyHash?: number
  /** As the schema of its type returns it. */
  readonly data: Data
  /** When it was stored; epoch ms. */
  readonly at: number
}

/** The events of the types that some schemas are for. */
export type PipelineEventOf<S extends Schemas> = {
  [Type in keyof S & string]: PipelineEvent<Type, OutputOf<S[Type]>>
}[keyof S & string]

/** An event to publish, of one of the types that some schemas are for. */
export type EventToPublish<S extends Schemas> = {
  [Type in keyof S & string]: {
    readonly type: Type
    readonly data: InputOf<S[Type]>
    /** As in {@link PublishOptions}. */
    readonly key?: string | undefined
  }
}[keyof S & string]

/** Options of `ctx.publish` and `ctx.publishAll`. */
export interface PublishOptions<Data = unknown> {
  /**
   * The key of the event, 1 to 255 characters, or a function that makes it of each event: in a stage with partitions, events with the same key go to the
   * same one, in order. Without a key they go to the partitions in turn. Only a hash of it is stored.
   */
  readonly key?: string | ((data: Data) => string) | undefined
}

/** Options of `ctx.receive`. */
export interface ReceiveOptions {
  /** So many events at the most, 1 to 1000; 100 by default. */
  readonly max?: number | undefined
}

/** Options of reading the events of a pipeline. */
export interface PipelineEventsOptions {
  /** Begins with the event after this sequence; 0, the default, is the first event. */
  readonly after?: number | undefined
  /** Only events of these types; all by default. */
  readonly types?: readonly string[] | undefined
  /** Whether data is what the schema of its type returns, which is the default, or as it is stored. */
  readonly check?: boolean | undefined
  /** Whether to follow the pipeline until it has ended, which is the default, or to stop at what is there now. */
  readonly live?: boolean | undefined
  /** Ends the reading; the iteration throws its reason. */
  readonly signal?: AbortSignal | undefined
}

/** A pipeline, and how far its stages have come. */
export type PipelineView = PipelineRecord

/** Which pipelines to list. */
export interface PipelinePage {
  /** 1 to 1000, 100 by default. */
  readonly limit?: number | undefined
  /** The `cursor` of the page before. */
  readonly cursor?: number | undefined
}

/** A rule that the stages of a pipeline break. */
export type PipelineViolation = StageViolation

/** A pipeline that was submitted, for readers outside of it. Source: `docs/pipelines.md`. */
export interface Pipeline {
  /**
   * Its events in the order of their sequences, from history into live, until the pipeline has ended. Throws `not_found` for a task that is no
   * pipeline, `invalid_argument` for an option that it does not accept, and `store_*`.
   */
  events(options?: PipelineEventsOptions): AsyncIterable<PipelineEvent>
  /** How many events there are, and how many each task of a stage has received and has to receive. Throws as {@link Pipeline.events}. */
  status(): Promise<PipelineView>
}
