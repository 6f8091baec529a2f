import { recordStepNeeds } from '../step/needs.ts'
import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'

export function openPipelineNeeds(needs: Needs, it: Write<'openPipeline'>): void {
  recordStepNeeds(needs, { ...it, kind: 'recordStep', ...noStep })
  const lease = needs.leaseKnown(it.leaseId)
  if (lease !== undefined) needs.pipeline(lease.task)
}

export function stageNeeds(needs: Needs, it: Write<'publish'> | Write<'receive'>): void {
  recordStepNeeds(needs, { ...it, kind: 'recordStep', ...noStep })
  const lease = needs.leaseKnown(it.leaseId)
  const task = lease === undefined ? undefined : needs.task(lease.task)
  if (task !== undefined && task.parent !== null) needs.stages(task.parent)
}

/** The fields of a step that do not decide which rows it needs. */
const noStep = { durationMs: 0, result: 'null' } as const
