import type { PipelineRecord, TaskRecord } from '@ku0/agent-runtime-core'
import type { TaskRow } from '@ku0/agent-runtime-core/transition'
import type { ReadContext } from './read-context.ts'

/** Answers what is asked of a pipeline, or of the task of one of its stages; undefined for another task. */
export function preparePipelines(
  { load }: ReadContext['tables'],
  nameOf: (row: TaskRow) => string,
  recordOf: (row: TaskRow) => TaskRecord,
): (row: TaskRow) => PipelineRecord | undefined {
  return (row) => {
    const own = load.pipeline(row.id)
    const pipeline = own ?? (row.parent === null ? undefined : load.pipeline(row.parent))
    const task = pipeline === undefined ? undefined : load.task(pipeline.task)
    if (pipeline === undefined || task === undefined) return undefined
    const { terms, log } = pipeline
    const stage = log.stages.find((it) => it.task === row.id)?.stage
    if (own === undefined && stage === undefined) return undefined
    return {
      taskId: nameOf(task),
      type: recordOf(task).type,
      ...(stage === undefined ? {} : { stage }),
      terms,
      seq: log.seq,
      published: log.published,
      stages: log.stages.map(({ stage: name, task: id, ended, taken }) => {
        const found = id === undefined ? undefined : load.task(id)
        return {
          stage: name,
          ...(found === undefined ? {} : { taskId: nameOf(found) }),
          ended,
          taken,
        }
      }),
    }
  }
}
