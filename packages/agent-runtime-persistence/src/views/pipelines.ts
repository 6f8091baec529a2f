import type { PipelineRecord, StageTaskRecord, TaskRecord } from '@ku0/agent-runtime-core'
import { partOf, type TaskRow, unreadCounts } from '@ku0/agent-runtime-core/transition'
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
    const place = partOf(pipeline, row.id)?.place
    if (own === undefined && place === undefined) return undefined
    const parts = log.parts.map(({ stage, partition, task: id, ended, taken }, at) => {
      const found = id === undefined ? undefined : load.task(id)
      const record: StageTaskRecord = {
        ...(partition === undefined ? {} : { partition }),
        ...(found === undefined ? {} : { taskId: nameOf(found) }),
        ended,
        taken,
        unread: unreadCounts(pipeline, at),
      }
      return { stage, record }
    })
    return {
      taskId: nameOf(task),
      type: recordOf(task).type,
      ...place,
      terms,
      seq: log.seq,
      published: log.published,
      stages: terms.stages.map(({ stage }) => {
        const tasks = parts.flatMap((part) => (part.stage === stage ? [part.record] : []))
        return { stage, ended: tasks.every(({ ended }) => ended), taken: sumOf(tasks), tasks }
      }),
    }
  }
}

function sumOf(tasks: readonly StageTaskRecord[]): Readonly<Record<string, number>> {
  const sum = new Map<string, number>()
  for (const { taken } of tasks)
    for (const [type, count] of Object.entries(taken)) sum.set(type, (sum.get(type) ?? 0) + count)
  return Object.fromEntries(sum)
}
