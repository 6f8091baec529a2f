import type { settingsAmong } from '@ku0/agent-runtime-core'

/** A setting of the store that a process has otherwise than it is in force. */
export function unlikeText({
  setting,
  here,
  there,
  process,
}: ReturnType<typeof settingsAmong>[number]): string {
  return `processes have different settings: ${setting} is ${here ?? 'not set'} in force, and ${there ?? 'not set'} for process ${process.pid} on ${process.host}; give all the same config`
}
