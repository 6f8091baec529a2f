/** @module @ku0/agent-runtime/testing */

export { CrashSweepFailed, sweepCrashes, type CrashSweep, type CrashSweepReport } from './crash-sweep.ts'
export type { HistoryStep, HistoryWait, TaskHistory } from './task-history.ts'
export { replayHistory, type ReplayHistoryOptions, type RecordedHistory } from './recorded-history.ts'
export { createTestRuntime } from './running-test.ts'
export {
  ProcessCrashed,
  TaskStuck,
  type TaskLike,
  type TestRuntime,
  type TestRuntimeOptions,
} from './test-runtime.ts'
