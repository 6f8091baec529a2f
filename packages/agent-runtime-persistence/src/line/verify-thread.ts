import type { MessagePort } from 'node:worker_threads'
import { verify } from '../care/verify-store.ts'
import type { VerifyProgress } from '../care/verify/verification.ts'
import { type FromVerification, recordOf, type VerifyStart } from './thread-messages.ts'

/** Verifies a store in a thread of its own, until it is done or told to end. */
export async function runVerification(
  port: MessagePort,
  { verifies, folder, options }: VerifyStart,
): Promise<void> {
  const end = new AbortController()
  const say = (message: FromVerification) => port.postMessage(message)
  port.once('message', () => end.abort())
  try {
    const onProgress = (progress: VerifyProgress) => say({ kind: 'progress', progress })
    const report = await verify(verifies, { ...options, signal: end.signal, onProgress }, folder)
    say({ kind: 'done', report })
  } catch (error) {
    say({ kind: 'refused', error: recordOf(error) })
  }
  port.close()
}
