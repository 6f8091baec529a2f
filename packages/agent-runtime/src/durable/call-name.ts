import { PATCH_KEY, READY_KEY, stageCallText } from '@ku0/agent-runtime-core'
import type { KeyUse } from './pass/key-use.ts'

/** A call of the context, or its name. */
export type CallOrName = string | Pick<KeyUse, 'key' | 'as' | 'branches'>

/** A call as its code spells it, for messages. */
export function nameOfCall(call: CallOrName): string {
  if (typeof call === 'string') return call
  const { key, as, branches } = call
  if (key.startsWith(PATCH_KEY)) return `patched '${key.slice(PATCH_KEY.length)}'`
  if (key === READY_KEY) return 'ready'
  const ofStage = stageCallText(key)
  if (ofStage !== undefined) return ofStage
  return `${branches ?? (as === 'timer' ? 'sleep' : as)} '${key}'`
}
