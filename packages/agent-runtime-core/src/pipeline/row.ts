import type { PipelineTerms } from './pipeline.ts'
import type { PipelineLog } from './log.ts'

/** A pipeline: its terms, and how far its log was written and received. The events themselves are the output of its task. */
export interface PipelineRow {
  readonly task: number
  readonly terms: PipelineTerms
  readonly log: PipelineLog
}
