/** The idempotency key of the retry of a task: a second one returns the first. */
export function retryKey(taskId: string): string {
  return `retry of ${taskId}`
}
