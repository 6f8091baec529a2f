import type { PipelineRecord } from '@ku0/agent-runtime-core'
import { follow, type FollowOptions } from './follow.ts'
import type { Receipt } from './records.ts'
import type { Transport } from './transport.ts'

/** An event that a stage of a pipeline published. */
export interface PipelineEvent {
  /** Its place in the log of the pipeline, from 1, without gaps. */
  readonly sequence: number
  readonly type: string
  /** The stage that published it. */
  readonly stage: string
  /** The partition of the stage that published it, from 1. */
  readonly partition?: number
  /** The hash of its key. */
  readonly keyHash?: number
  /** As it is stored. */
  readonly data: unknown
  /** Epoch ms. */
  readonly at: number
}

/** Which events of a pipeline to read, and what ends it. */
export interface PipelineEventsOptions extends FollowOptions {
  /** Only events of these types; all by default. */
  readonly types?: readonly string[] | undefined
  /** Whether to follow the pipeline until it has ended, which is the default, or to stop at what is there now. */
  readonly live?: boolean | undefined
}

/** A pipeline that was submitted. A task that is none, or has not begun, is `not_found`. */
export interface Pipeline {
  /** Its stages, the events of each, and who holds whom back. */
  status(): Promise<PipelineRecord>
  /** Its events in the order of their sequences, across broken connections, without gap and without repetition. */
  events(options?: PipelineEventsOptions): AsyncIterable<PipelineEvent>
}

/** The calls about pipelines. */
export interface Pipelines {
  /** One pipeline. */
  pipeline(task: Receipt | string): Pipeline
  /** A page of the pipelines, newest first. */
  pipelines(page?: {
    readonly limit?: number | undefined
    readonly cursor?: string | undefined
  }): Promise<{ readonly pipelines: readonly PipelineRecord[]; readonly cursor?: string }>
}

/** The calls about pipelines, on a transport. */
export function pipelinesOn(transport: Transport): Pipelines {
  return {
    pipeline(task) {
      const path = `/pipelines/${encodeURIComponent(typeof task === 'string' ? task : task.taskId)}`
      return {
        status: async () => (await transport.json({ path })) as PipelineRecord,
        events: ({ live = true, types, ...options } = {}) => {
          const events = `${path}/events`
          return live
            ? follow<PipelineEvent>(transport, events, options, { types })
            : stored(transport, events, options, types)
        },
      }
    },
    async pipelines(query = {}) {
      const page = await transport.json({ path: '/pipelines', query })
      return page as Awaited<ReturnType<Pipelines['pipelines']>>
    },
  }
}

/** All events that are stored now, page after page. */
async function* stored(
  transport: Transport,
  path: string,
  { after: from = 0, signal }: FollowOptions,
  types: readonly string[] | undefined,
): AsyncGenerator<PipelineEvent, void, undefined> {
  let after: number | undefined = from
  while (after !== undefined) {
    const query = { after, limit: 1_000, types }
    const page = (await transport.json({ path, query, signal })) as {
      readonly events: readonly PipelineEvent[]
      readonly cursor?: number
    }
    yield* page.events
    after = page.cursor
  }
}
