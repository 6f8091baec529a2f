import {
  assertOptions,
  type ExecutionStore,
  instead,
  invalid,
  type PipelineRecord,
  type PipelineTerms,
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
  const record = async (call: string): Promise<PipelineRecord> => {
    const found = await deps.store.read({ kind: 'pipeline', taskId })
    if (found === undefined || found.stage !== undefined)
      throw new RuntimeError('not_found', `${call}: task ${taskId} is no pipeline, or has not begun`, {
        details: { taskId },
      })
    return found
  }
  return {
    events(options = {}) {
      assertOpen()
      assertOptions('pipeline.events', options, pipelineRules)
      return read(deps, taskId, () => record('pipeline.events'), options)
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

/** One that was submitted and has not begun has no events yet. */
async function* read(
  deps: FollowDeps,
  taskId: string,
  record: () => Promise<PipelineRecord>,
  { types, check, ...options }: PipelineEventsOptions,
): AsyncGenerator<PipelineEvent, void, undefined> {
  let pipeline: string | undefined
  for await (const chunk of followChunks(deps, taskId, options)) {
    if (pipeline === undefined) {
      const { type, terms } = await record()
      assertPublishes(type, terms, types ?? [])
      pipeline = type
    }
    const event = readEvent(deps.values, check === false ? undefined : pipeline, chunk)
    if (types === undefined || types.includes(event.type)) yield event
  }
  if (pipeline === undefined && options.live !== false) await record()
}

/** A reader of a type that nobody publishes would wait for nothing. */
function assertPublishes(pipeline: string, { stages }: PipelineTerms, types: readonly string[]): void {
  const published = [...new Set(stages.flatMap(({ publishes }) => publishes))]
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
