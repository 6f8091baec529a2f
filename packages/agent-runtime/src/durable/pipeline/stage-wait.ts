import type { PipelineRecord, StageTaskRecord, StageWait } from '@ku0/agent-runtime-core'

/** Whether a wait of the stage that a record is of is over by what the record says. */
export function isOver(pipeline: PipelineRecord, wait: StageWait): boolean {
  const own = pipeline.stages.find(({ stage }) => stage === pipeline.stage)
  if (wait.for === 'room') return own?.heldBack.includes(wait.type) !== true
  const { unread = {} } = own?.tasks.find(({ partition }) => partition === pipeline.partition) ?? {}
  const hasEvents = wait.types.some((type) => Object.hasOwn(unread, type))
  return hasEvents || awaitedBy(pipeline, wait).every(({ ended }) => ended)
}

/** The tasks whose doing may end a wait: of the stages that publish what it is for, or receive it. */
export function awaitedBy({ stages, terms }: PipelineRecord, wait: StageWait): readonly StageTaskRecord[] {
  return terms.stages.flatMap(({ publishes, subscribes }, at) => {
    const doesIt =
      wait.for === 'room'
        ? subscribes.includes(wait.type)
        : wait.types.some((type) => publishes.includes(type))
    return doesIt ? (stages[at]?.tasks ?? []) : []
  })
}
