import { decode, type TaskRecord } from '@ku0/agent-runtime-core'
import type { TaskStatus } from '../api/status.ts'

export function toStatus(record: TaskRecord): TaskStatus {
  const { input, ...rest } = record
  const status: Record<string, unknown> = { ...rest }
  if (input !== undefined) status['input'] = decode(input)
  if (record.state === 'completed') status['output'] = decode(record.output)
  if (record.state === 'failed') status['error'] = decode(record.error)
  return status as TaskStatus
}
