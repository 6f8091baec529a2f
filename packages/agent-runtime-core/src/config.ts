export type { ConfigWarning, ExecutionConfig, ExecutionConfigInput } from './schemas/config.ts'
