import type { Call } from '../call.ts'

/** A line for people on standard error, or a line of JSON for programs on standard output. */
export function say({ print }: Pick<Call, 'print'>, report: object, text: string): void {
  if (print.isJson) print.item(report, () => '')
  else print.note(text)
}

/** Resolves when the command is to end; rejects when the store has failed. */
export async function ended(signal: AbortSignal, failed: Promise<never>): Promise<void> {
  const aborted = Promise.withResolvers<void>()
  const abort = () => aborted.resolve()
  if (signal.aborted) return
  signal.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([aborted.promise, failed])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
