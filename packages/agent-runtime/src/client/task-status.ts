import { decode, parseJson, type TaskRecord, type ValueCodec } from '@ku0/agent-runtime-core'
import type { TaskStatus } from '../api/status.ts'

export function toStatus(record: TaskRecord, values: ValueCodec): TaskStatus {
  const { input, ...rest } = record
  const status: Record<string, unknown> = { ...rest }
  if (input !== undefined) status['input'] = shown(values, input)
  if (record.state === 'completed') status['output'] = shown(values, record.output)
  if (record.state === 'failed') status['error'] = decode(record.error)
  return status as TaskStatus
}

/** The value for people; one that this program cannot read, for want of a codec or a key, as it is stored. */
export function shown(values: ValueCodec, text: string): unknown {
  try {
    return values.decode(text)
  } catch {
    return parseJson(text)
  }
}
