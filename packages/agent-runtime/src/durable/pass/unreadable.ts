import { type Divergence, RuntimeError, type ValueCodec } from '@ku0/agent-runtime-core'
import type { Memos } from './memos.ts'

/**
 * The first recorded value of a task that this process cannot read, for want of a codec or a key; undefined if it reads them all. A pass that began
 * without them would lose what was recorded: it would run steps again, or fail the task. Only values that need one are looked at.
 */
export function unreadableIn(
  values: ValueCodec,
  memos: Memos,
  checkpoint: string | undefined,
): Divergence | undefined {
  for (const { key, position, result } of memos.steps.values()) {
    const found = faultIn(values, result, { key, position })
    if (found !== undefined) return found
  }
  for (const { key, position, value = '' } of memos.waits.values()) {
    const found = faultIn(values, value, { key, position })
    if (found !== undefined) return found
  }
  return faultIn(values, checkpoint ?? '', { key: 'checkpoint', position: 0 })
}

/** The divergence that parks a task for such an error; undefined for any other error. */
export function unreadableBy(error: unknown, { key, position }: Place): Divergence | undefined {
  if (!(error instanceof RuntimeError) || error.code !== 'value_unreadable') return undefined
  return { kind: 'value_unreadable', key, position, expected: String(error.details['reason']) }
}

interface Place {
  readonly key: string
  readonly position: number
}

function faultIn(values: ValueCodec, text: string, place: Place): Divergence | undefined {
  if (!needsReader.test(text)) return undefined
  try {
    values.decode(text)
  } catch (error) {
    return unreadableBy(error, place)
  }
  return undefined
}

const needsReader = /"\$ku0":\["(?:Codec|Sealed)"/
