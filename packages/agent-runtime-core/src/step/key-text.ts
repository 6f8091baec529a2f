import { durationText } from '../check/duration-text.ts'
import { childKeyOf, isChildName, isPatience, patientFor } from '../child/child.ts'
import { isLimit, limitedBy, PATCH_KEY, RETRY_KEY } from '../history/replay.ts'
import { marketKeyText } from '../market/market.ts'
import { isEscalation } from '../recovery/escalation.ts'
import { isHandOver } from '../recovery/hand-over.ts'
import { pipelineKeyText } from '../pipeline/pipeline.ts'
import { afterIn, afterText, READY_KEY, supervisedIn, supervisorTerms } from '../supervision/supervision.ts'
import { doubted, isDoubt } from './doubt.ts'

/**
 * The key of a call or a wait, for people: a program's own key in quotes, a key of the runtime's in words.
 */
export function keyText(key: string): string {
  if (isDoubt(key)) return `the question whether step '${doubted(key)}' took effect`
  if (isEscalation(key)) return 'the question whether it is to go on after its failure'
  if (isHandOver(key)) return 'the task that it was handed over to'
  if (isChildName(key) && isHandOver(childKeyOf(key))) return keyText(childKeyOf(key))
  if (isChildName(key)) return `child '${childKeyOf(key)}'`
  if (isPatience(key)) return `the patience for child '${patientFor(key)}'`
  const staged = pipelineKeyText(key)
  if (staged !== undefined) return staged
  const marketed = marketKeyText(key)
  if (marketed !== undefined) return marketed
  const child = supervisedIn(key)
  if (child !== undefined) return `supervised child '${child.id}'`
  const later = afterIn(key)
  if (later !== undefined) return afterText(later)
  if (key === READY_KEY) return 'the sign that it is ready'
  const terms = supervisorTerms(key)
  if (terms !== undefined)
    return `supervised children (${terms.strategy}, at most ${terms.maxRestarts} restarts in ${durationText(terms.periodMs)})`
  if (isLimit(key)) return `the time limit of '${limitedBy(key)}'`
  if (key.startsWith(PATCH_KEY)) return `patch '${key.slice(PATCH_KEY.length)}'`
  const again = key.startsWith(RETRY_KEY) ? key.slice(RETRY_KEY.length) : ''
  const limited = /^limit-\d+\/(.*)$/s.exec(again)?.[1]
  if (limited !== undefined) return `the wait that a rate limit asked of ${keyText(limited)}`
  const [, retry, call] = /^(\d+)\/(.*)$/s.exec(again) ?? []
  return call === undefined ? `'${key}'` : `the back-off before retry ${retry} of ${keyText(call)}`
}
