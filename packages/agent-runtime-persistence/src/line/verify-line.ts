import { Worker } from 'node:worker_threads'
import { StoreError } from '@ku0/agent-runtime-core'
import type { Verification, VerifyOptions } from '../care/verify/verification.ts'
import { endMessage, type FromVerification, revived, type VerifyStart } from './thread-messages.ts'
import { errorOfThread, threadProgram } from './thread-program.ts'

/** Verifies a store in a thread of its own. The thread ends by itself; whoever aborts does not wait for that. */
export async function verifyInThread(
  url: string,
  { signal, onProgress, ...given }: VerifyOptions,
): Promise<Verification> {
  signal?.throwIfAborted()
  const program = threadProgram()
  const options = { ...given, thread: false }
  const worker = new Worker(program, {
    workerData: { verifies: url, options } satisfies VerifyStart,
    execArgv: [],
    name: 'ku0-verify',
  })
  const { promise, resolve, reject } = Promise.withResolvers<Verification>()
  worker.on('message', (message: FromVerification) => {
    if (message.kind === 'progress') onProgress?.(message.progress)
    else if (message.kind === 'done') resolve(message.report)
    else reject(revived(message.error))
  })
  worker.once('error', (error: Error) => reject(errorOfThread(error, program)))
  worker.once('exit', () => reject(new StoreError('store_io', 'the thread of the verification ended early')))
  const abort = () => {
    worker.postMessage(endMessage)
    reject(signal?.reason as Error)
  }
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await promise
  } finally {
    signal?.removeEventListener('abort', abort)
    worker.unref()
  }
}
