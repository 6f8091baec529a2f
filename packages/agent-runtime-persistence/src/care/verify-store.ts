import { join } from 'node:path'
import {
  assertOptions,
  flagRule,
  functionRule,
  invalid,
  isRecord,
  type Rules,
  signalRule,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import { lookForAnchor } from '../sqlite/anchor.ts'
import { openWhatIsLeft } from '../sqlite/reading.ts'
import type { Db } from '../sqlite/open.ts'
import { storeErrorOf } from '../sqlite/errors.ts'
import { chainDigest, nextTurn, systemEnvironment } from '../system.ts'
import { isPostgresUrl } from '../postgres/connection/url.ts'
import { parseStoreUrl } from '../store-url.ts'
import { inCopyFolder } from './copy-folder.ts'
import { reportOf } from './verify/unreadable-file.ts'
import { Tally } from './verify/tally.ts'
import type { Seal, Verification, VerifyOptions } from './verify/verification.ts'
import { verifyDatabase } from './verify/verify-database.ts'

const verifyRules: Rules<VerifyOptions> = {
  maxFaults: wholeNumber(1, 10_000),
  since: ['a seal, as a verification returns it: { storeId, commit, hash }', isSeal],
  signal: signalRule,
  onProgress: functionRule,
  thread: flagRule,
}

/** Whether something is a {@link Seal}, whichever store it is of. */
function isSeal(given: unknown): boolean {
  if (!isRecord(given)) return false
  const { storeId, commit, hash } = given
  const isHash = typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash)
  return typeof storeId === 'string' && Number.isSafeInteger(commit) && (commit as number) >= 0 && isHash
}

/** See `verifyStore`. `folder`: for the copy, where somebody else removes it. */
export async function verify(
  url: string,
  options: VerifyOptions = {},
  folder?: string,
): Promise<Verification> {
  assertOptions('verifyStore', options, verifyRules)
  if (!isPostgresUrl(url)) return verifyWhatIsLeft(parseStoreUrl(url), options)
  if (folder !== undefined) return verifyCopy(url, options, folder)
  return inCopyFolder((own) => verifyCopy(url, options, own))
}

/** A file that cannot be opened, since a part of it is missing, is a fault like any other. */
async function verifyWhatIsLeft(path: string, options: VerifyOptions): Promise<Verification> {
  try {
    return await verifyFile(path, options)
  } catch (error) {
    const report = reportOf(error, path)
    if (report === undefined) throw error
    return report
  }
}

/** A store on PostgreSQL is verified by a copy of it, as it was at one moment, by the rules of a file. */
async function verifyCopy(url: string, options: VerifyOptions, folder: string): Promise<Verification> {
  const { copyToFile } = await import('../postgres/care/copy.ts')
  const path = join(folder, 'copy.db')
  await copyToFile(url, path, { signal: options.signal })
  return verifyFile(path, options)
}

/** The same by the path of the file. */
export async function verifyFile(
  given: string,
  { maxFaults = 100, since, signal, onProgress }: VerifyOptions = {},
): Promise<Verification> {
  const { db, path, isCut } = openWhatIsLeft(given)
  const { digest } = systemEnvironment()
  try {
    const hashes = { chain: chainDigest, sha256Hex: (text: string) => digest.sha256Hex(text) }
    if (since !== undefined) assertSealOf(db, path, since)
    const tally = new Tally()
    // Read before the first slice: the journal is never behind what was an anchor before.
    const anchor = lookForAnchor(path)
    const slices = verifyDatabase({ db, path, isCut, anchor, hashes, maxFaults, since, tally })
    for (;;) {
      signal?.throwIfAborted()
      const { done, value } = slices.next()
      if (done === true) return value
      onProgress?.({ tasks: tally.tasks, events: tally.events })
      await nextTurn()
    }
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw storeErrorOf(error, path)
  } finally {
    db.close()
  }
}

/** Two stores may have commits of one number. A text that names no store is damage, which is found later. */
function assertSealOf(db: Db, path: string, { storeId }: Seal): void {
  const own = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'store_id'").pluck().get()
  if (own === storeId || own === undefined) return
  throw invalid(
    `since is the seal of store ${storeId}, and ${path} is store ${own}; leave it out to read all`,
  )
}
