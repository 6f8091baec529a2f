import { holdersBack, type PipelineCase } from './log.ts'
import { pipelineKeyText, stageWaitIn } from './pipeline.ts'

/** Words for the wait of a stage: whose events it waits for, or who holds it back. Undefined for another wait. */
export function stageWaitText(key: string, pipeline: PipelineCase | undefined): string | undefined {
  const wait = stageWaitIn(key)
  if (wait === undefined) return undefined
  const text = pipelineKeyText(key) ?? ''
  if (pipeline === undefined) return text
  if (wait.for === 'room') {
    const stages = holdersBack(pipeline, wait.type).map(
      ({ stage, unread }) => `stage '${stage}' has ${unread} of them to receive`,
    )
    return stages.length === 0
      ? text
      : `${text}: ${stages.join(', ')}, and maxUnread is ${pipeline.terms.maxUnread}`
  }
  const { stages } = pipeline.terms
  const from = stages.filter(
    ({ publishes }, at) =>
      pipeline.log.stages[at]?.ended !== true && publishes.some((type) => wait.types.includes(type)),
  )
  return from.length === 0
    ? text
    : `${text} from ${from.map(({ stage }) => `stage '${stage}'`).join(', ')}, which has not ended`
}
