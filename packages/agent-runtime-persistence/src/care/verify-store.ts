import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assertOptions, type Rules, signalRule, wholeNumber } from '@ku0/agent-runtime-core'
import { lookForAnchor } from '../sqlite/anchor.ts'
import { openWhatIsLeft } from '../sqlite/reading.ts'
import { storeErrorOf } from '../sqlite/errors.ts'
import { chainDigest, nextTurn, systemEnvironment } from '../system.ts'
import { isPostgresUrl } from '../postgres/url.ts'
import { parseStoreUrl } from '../store-url.ts'
import { reportOf } from './verify/unreadable-file.ts'
import type { Verification } from './verify/verification.ts'
import { verifyDatabase } from './verify/verify-database.ts'

export interface VerifyOptions {
  /** How many faults are described in full: 1 to 10 000, 100 by default. */
  readonly maxFaults?: number
  /** Ends it early: it rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

const verifyRules: Rules<VerifyOptions> = { maxFaults: wholeNumber(1, 10_000), signal: signalRule }

/** See `verifyStore`. */
export async function verify(url: string, options: VerifyOptions = {}): Promise<Verification> {
  assertOptions('verifyStore', options, verifyRules)
  return isPostgresUrl(url) ? verifyCopy(url, options) : verifyWhatIsLeft(parseStoreUrl(url), options)
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
async function verifyCopy(url: string, options: VerifyOptions): Promise<Verification> {
  const { copyToFile } = await import('../postgres/copy.ts')
  const folder = await mkdtemp(join(tmpdir(), 'agent-runtime-verify-'))
  try {
    const path = join(folder, 'copy.db')
    await copyToFile(url, path, options)
    return await verifyFile(path, options)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The same by the path of the file. */
export async function verifyFile(
  given: string,
  { maxFaults = 100, signal }: VerifyOptions = {},
): Promise<Verification> {
  const { db, path, isCut } = openWhatIsLeft(given)
  const { digest } = systemEnvironment()
  try {
    const hashes = { chain: chainDigest, sha256Hex: (text: string) => digest.sha256Hex(text) }
    // Read before the first slice: the journal is never behind what was an anchor before.
    const slices = verifyDatabase({ db, path, isCut, anchor: lookForAnchor(path), hashes, maxFaults })
    for (;;) {
      signal?.throwIfAborted()
      const { done, value } = slices.next()
      if (done === true) return value
      await nextTurn()
    }
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw storeErrorOf(error, path)
  } finally {
    db.close()
  }
}
