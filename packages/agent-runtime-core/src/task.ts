export type { TaskRecord } from './schemas/task.ts'
