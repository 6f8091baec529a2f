import { listed } from './held-back.ts'
import { holdersBack, type PipelineCase, publishersOf } from './log.ts'
import { pipelineKeyText, stagePartText, stageWaitIn } from './pipeline.ts'

/** Words for the wait of a stage: whose events it waits for, or who holds it back. Undefined for another wait. */
export function stageWaitText(key: string, pipeline: PipelineCase | undefined): string | undefined {
  const wait = stageWaitIn(key)
  if (wait === undefined) return undefined
  const text = pipelineKeyText(key) ?? ''
  if (pipeline === undefined) return text
  if (wait.for === 'room') {
    const holders = holdersBack(pipeline, wait.type)
    const held = listed(holders.map((it) => `${stagePartText(it)} has ${it.unread} of them to receive`))
    return holders.length === 0 ? text : `${text}: ${held}, and maxUnread is ${pipeline.terms.maxUnread}`
  }
  const from = publishersOf(pipeline, wait.types)
  const have = from.length === 1 ? 'which has not ended' : 'which have not ended'
  return from.length === 0 ? text : `${text} from ${listed(from.map(stagePartText))}, ${have}`
}
