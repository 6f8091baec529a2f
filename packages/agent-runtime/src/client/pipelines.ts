import {
  assertOptions,
  type ExecutionStore,
  instead,
  invalid,
  type PipelineRecord,
  type Reads,
  type Rules,
  RuntimeError,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { Pipeline, PipelineEvent, PipelineEventsOptions, PipelinePage } from '../api/pipelines.ts'
import { pipelineRules } from '../terms/arguments.ts'
import { readEvent } from '../terms/pipeline-events.ts'
import { type FollowDeps, followChunks } from './follow.ts'

/** A pipeline of one runtime, for readers outside of it. */
export function pipelineOf(deps: FollowDeps, taskId: string, assertOpen: () => void): Pipeline {
  const begun = async (): Promise<PipelineRecord | undefined> => {
    const found = await deps.store.read({ kind: 'pipeline', taskId })
    return found?.stage === undefined ? found : undefined
  }
  const record = async (call: string): Promise<PipelineRecord> => {
    const found = await begun()
    if (found === undefined)
      throw new RuntimeError('not_found', `${call}: task ${taskId} is no pipeline, or has not begun`, {
        details: { taskId },
      })
    return found
  }
  return {
    events(options = {}) {
      assertOpen()
      assertOptions('pipeline.events', options, pipelineRules)
      return read(deps, taskId, { begun, record: () => record('pipeline.events') }, options)
    },
    status() {
      assertOpen()
      return record('pipeline.status')
    },
  }
}

/** The pipelines of a store, newest first. */
export async function pageOfPipelines(
  store: ExecutionStore,
  page: PipelinePage,
): Promise<Reads['pipelines']['answer']> {
  assertOptions('pipelines', page, pageRules)
  const { limit = 100, cursor } = page
  return store.read({ kind: 'pipelines', limit, ...(cursor === undefined ? {} : { before: cursor }) })
}

/** Reads a pipeline, if it has begun; `record` throws if it has not. */
interface Records {
  readonly begun: () => Promise<PipelineRecord | undefined>
  readonly record: () => Promise<PipelineRecord>
}

/** One that was submitted and has not begun has no events yet. */
async function* read(
  deps: FollowDeps,
  taskId: string,
  { begun, record }: Records,
  { types, check, ...options }: PipelineEventsOptions,
): AsyncGenerator<PipelineEvent, void, undefined> {
  const typeOf = (found: PipelineRecord): string => {
    assertPublishes(found, types ?? [])
    return found.type
  }
  const early = types === undefined ? undefined : await begun()
  let pipeline = early && typeOf(early)
  for await (const chunk of followChunks(deps, taskId, options)) {
    pipeline ??= typeOf(await record())
    const event = readEvent(deps.values, check === false ? undefined : pipeline, chunk)
    if (types === undefined || types.includes(event.type)) yield event
  }
  if (pipeline === undefined && options.live !== false) await record()
}

/** A reader of a type that nobody publishes would wait for nothing. */
function assertPublishes({ type: pipeline, terms }: PipelineRecord, types: readonly string[]): void {
  const published = [...new Set(terms.stages.flatMap(({ publishes }) => publishes))]
  const wrong = types.find((type) => !published.includes(type))
  if (wrong === undefined) return
  throw invalid(
    `pipeline.events option types: no stage of pipeline '${pipeline}' publishes '${wrong}'${instead(wrong, published)}`,
  )
}

const pageRules: Rules<PipelinePage> = {
  limit: wholeNumber(1, 1_000),
  cursor: wholeNumber(0, Number.MAX_SAFE_INTEGER),
}
