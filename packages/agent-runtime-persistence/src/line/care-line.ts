import { Worker } from 'node:worker_threads'
import { StoreError } from '@ku0/agent-runtime-core'
import { inCopyFolder } from '../care/copy-folder.ts'
import type { Inspection } from '../care/inspect-store.ts'
import type { Verification, VerifyOptions } from '../care/verify/verification.ts'
import { isPostgresUrl } from '../postgres/connection/url.ts'
import { systemEnvironment } from '../system.ts'
import { type CareStart, endMessage, type FromCare, revived } from './thread-messages.ts'
import { errorOfThread, threadProgram } from './thread-program.ts'

/** Verifies a store in a thread of its own. It settles when the thread is gone, and with it the copy of a store on PostgreSQL. */
export async function verifyInThread(
  url: string,
  { signal, onProgress, ...given }: VerifyOptions,
): Promise<Verification> {
  signal?.throwIfAborted()
  const options = { ...given, thread: false }
  const verifyIn = (place: { readonly folder?: string }) =>
    inThread<Verification>({ verifies: url, options, ...place }, { signal, onProgress })
  return isPostgresUrl(url) ? inCopyFolder((folder) => verifyIn({ folder })) : verifyIn({})
}

/** Inspects the store of a file in a thread of its own. It settles when the thread is gone. */
export function inspectInThread(url: string): Promise<Inspection> {
  return inThread<Inspection>({ inspects: url }, {})
}

async function inThread<Report>(
  start: CareStart,
  { signal, onProgress }: { [Name in 'signal' | 'onProgress']?: VerifyOptions[Name] | undefined },
): Promise<Report> {
  signal?.throwIfAborted()
  const program = threadProgram()
  const worker = new Worker(program, { workerData: start, execArgv: [], name: 'ku0-care' })
  let report: Report | undefined
  let failure: Error = new StoreError('store_io', 'the thread that looks after the store ended early')
  let patience: { readonly cancel: () => void } | undefined
  /** It ends by itself between two slices; a connection that says nothing may keep it. */
  const endSoon = () => {
    patience ??= systemEnvironment().timers.after(END_WITHIN_MS, () => void worker.terminate())
  }
  worker.on('message', (message: FromCare<Report>) => {
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
