export type { StepRecord } from './schemas/step.ts'
