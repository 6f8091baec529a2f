import { Worker } from 'node:worker_threads'
import { StoreError } from '@ku0/agent-runtime-core'
import { inCopyFolder } from '../care/copy-folder.ts'
import type { Verification, VerifyOptions } from '../care/verify/verification.ts'
import { isPostgresUrl } from '../postgres/url.ts'
import { systemEnvironment } from '../system.ts'
import { endMessage, type FromVerification, revived, type VerifyStart } from './thread-messages.ts'
import { errorOfThread, threadProgram } from './thread-program.ts'

/** Verifies a store in a thread of its own. It settles when the thread is gone, and with it the copy of a store on PostgreSQL. */
export async function verifyInThread(url: string, options: VerifyOptions): Promise<Verification> {
  options.signal?.throwIfAborted()
  return isPostgresUrl(url)
    ? inCopyFolder((folder) => inThread({ verifies: url, folder }, options))
    : inThread({ verifies: url }, options)
}

async function inThread(
  place: Omit<VerifyStart, 'options'>,
  { signal, onProgress, ...given }: VerifyOptions,
): Promise<Verification> {
  signal?.throwIfAborted()
  const program = threadProgram()
  const options = { ...given, thread: false }
  const worker = new Worker(program, {
    workerData: { ...place, options } satisfies VerifyStart,
    execArgv: [],
    name: 'ku0-verify',
  })
  let report: Verification | undefined
  let failure: Error = new StoreError('store_io', 'the thread of the verification ended early')
  let patience: { readonly cancel: () => void } | undefined
  /** It ends by itself between two slices; a connection that says nothing may keep it. */
  const endSoon = () => {
    patience ??= systemEnvironment().timers.after(END_WITHIN_MS, () => void worker.terminate())
  }
  worker.on('message', (message: FromVerification) => {
    if (message.kind === 'progress') onProgress?.(message.progress)
    else {
      if (message.kind === 'done') report = message.report
      else failure = revived(message.error)
      endSoon()
    }
  })
  worker.once('error', (error: Error) => {
    failure = errorOfThread(error, program)
  })
  const abort = () => {
    worker.postMessage(endMessage)
    endSoon()
  }
  signal?.addEventListener('abort', abort, { once: true })
  await new Promise((exited) => void worker.once('exit', exited))
  signal?.removeEventListener('abort', abort)
  patience?.cancel()
  signal?.throwIfAborted()
  if (report === undefined) throw failure
  return report
}

const END_WITHIN_MS = 2_000
