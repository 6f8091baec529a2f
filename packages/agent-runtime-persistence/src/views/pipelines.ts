import {
  isFinal,
  type PipelineRecord,
  type Reads,
  type StageRecord,
  type StageTaskRecord,
  type TaskRecord,
} from '@ku0/agent-runtime-core'
import {
  hasRoom,
  partOf,
  type PipelineRow,
  type TaskRow,
  unreadCounts,
} from '@ku0/agent-runtime-core/transition'
import type { ReadContext } from './read-context.ts'

/** Answers what is asked of pipelines. */
export function preparePipelines(
  { load }: ReadContext['tables'],
  nameOf: (row: TaskRow) => string,
  recordOf: (row: TaskRow) => TaskRecord,
) {
  function record(pipeline: PipelineRow, task: TaskRow): PipelineRecord {
    const { terms, log } = pipeline
    const parts = log.parts.map(({ stage, partition, task: id, ended, taken }, at) => {
      const found = id === undefined ? undefined : load.task(id)
      const part: StageTaskRecord = {
        ...(partition === undefined ? {} : { partition }),
        ...(found === undefined ? {} : { taskId: nameOf(found), state: found.state }),
        ended,
        taken,
        unread: unreadCounts(pipeline, at),
      }
      return { stage, part }
    })
    return {
      taskId: nameOf(task),
      type: recordOf(task).type,
      state: task.state,
      terms,
      seq: log.seq,
      published: log.published,
      stages: terms.stages.map(({ stage, publishes }): StageRecord => {
        const tasks = parts.flatMap((it) => (it.stage === stage ? [it.part] : []))
        const isOver = tasks.every(({ state }) => state !== undefined && isFinal(state))
        return {
          stage,
          ended: tasks.every(({ ended }) => ended),
          taken: sumOf(tasks.map(({ taken }) => taken)),
          unread: sumOf(tasks.map(({ unread }) => unread)),
          heldBack: isOver ? [] : publishes.filter((type) => !hasRoom(pipeline, type)),
          tasks,
        }
      }),
    }
  }

  return {
    /** The task whose output is the log of the pipeline that a task is, or is a stage of; undefined for another task. */
    logOf(row: TaskRow): TaskRow | undefined {
      if (load.pipeline(row.id) !== undefined) return row
      const pipeline = row.parent === null ? undefined : load.pipeline(row.parent)
      const isStage = pipeline !== undefined && partOf(pipeline, row.id) !== undefined
      return isStage ? load.task(pipeline.task) : undefined
    },
    /** The pipeline that a task is, or is a stage of; undefined for another task. */
    of(row: TaskRow): PipelineRecord | undefined {
      const own = load.pipeline(row.id)
      const pipeline = own ?? (row.parent === null ? undefined : load.pipeline(row.parent))
      const task = pipeline === undefined ? undefined : load.task(pipeline.task)
      if (pipeline === undefined || task === undefined) return undefined
      const place = partOf(pipeline, row.id)?.place
      if (own === undefined && place === undefined) return undefined
      return { ...record(pipeline, task), ...place }
    },
    /** Newest first. */
    page({
      limit,
      before = Number.MAX_SAFE_INTEGER,
    }: Reads['pipelines']['fields']): Reads['pipelines']['answer'] {
      const rows = load.pipelinesBefore(before, limit + 1)
      const page = rows.slice(0, limit)
      const cursor = rows.length > limit ? page.at(-1)?.task : undefined
      const pipelines = page.flatMap((row) => {
        const task = load.task(row.task)
        return task === undefined ? [] : [record(row, task)]
      })
      return { pipelines, ...(cursor === undefined ? {} : { cursor }) }
    },
  }
}

function sumOf(counts: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const sum = new Map<string, number>()
  for (const byType of counts)
    for (const [type, count] of Object.entries(byType)) sum.set(type, (sum.get(type) ?? 0) + count)
  return Object.fromEntries(sum)
}
