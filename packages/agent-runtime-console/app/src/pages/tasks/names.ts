import type { Lane, TaskState } from '@ku0/agent-runtime-core'

export const taskStates = [
  'queued',
  'running',
  'waiting',
  'completed',
  'failed',
  'canceled',
  'rejected',
] as const satisfies readonly TaskState[]

export const lanes = ['interactive', 'normal', 'batch'] as const satisfies readonly Lane[]
