import type { MessagePort } from 'node:worker_threads'
import type { Inspection } from '../care/inspect-store.ts'
import type { Verification, VerifyProgress } from '../care/verify/verification.ts'
import { type CareStart, type FromCare, recordOf } from './thread-messages.ts'

/** Looks after a store in a thread of its own, until it is done or told to end. */
export async function runCare(port: MessagePort, start: CareStart): Promise<void> {
  const end = new AbortController()
  const say = (message: FromCare<Inspection | Verification>) => port.postMessage(message)
  port.once('message', () => end.abort())
  try {
    const onProgress = (progress: VerifyProgress) => say({ kind: 'progress', progress })
    say({ kind: 'done', report: await reportOf(start, { signal: end.signal, onProgress }) })
  } catch (error) {
    say({ kind: 'refused', error: recordOf(error) })
  }
  port.close()
}

async function reportOf(
  start: CareStart,
  more: { readonly signal: AbortSignal; readonly onProgress: (progress: VerifyProgress) => void },
): Promise<Inspection | Verification> {
  if ('inspects' in start) {
    const { inspect } = await import('../care/inspect-store.ts')
    return inspect(start.inspects)
  }
  const { verify } = await import('../care/verify-store.ts')
  return verify(start.verifies, { ...start.options, ...more }, start.folder)
}
