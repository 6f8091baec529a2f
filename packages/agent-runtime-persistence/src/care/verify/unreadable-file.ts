// oxlint-disable-next-line house/database-files -- no connection has a file open that is smaller than a page: SQLite refuses it
import { readFileSync, statSync } from 'node:fs'
import { isRecord, RuntimeError } from '@ku0/agent-runtime-core'
import { lookForAnchor } from '../../sqlite/anchor.ts'
import { smallestPage } from '../../sqlite/open.ts'
import { isCutWithinAPage } from '../../sqlite/errors.ts'
import { Faults } from './faults.ts'
import { remedyOf } from './remedy.ts'
import type { Verification } from './verification.ts'

/** The report on a file of which so much is missing or damaged that it cannot be opened; undefined if the error says something else. */
export function reportOf(error: unknown, path: string): Verification | undefined {
  if (!(error instanceof RuntimeError)) return undefined
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size === undefined) return undefined
  const found = lookForAnchor(path)
  const anchor = found === 'unreadable' ? undefined : found
  const faults = new Faults(maxFaults)
  const bytes = `${size} bytes`
  switch (error.code) {
    case 'not_found':
      faults.add('file', 'the file', 'a store', `${bytes} of one`)
      break
    case 'store_data_loss':
      // A young store is all in its log: then that is cut, and the file is whole.
      if (size === 0) faults.add('file', 'the file', 'a store', `${bytes} of one`)
      break
    case 'store_io':
      if (!isCutWithinAPage(error.cause)) return undefined
      faults.add('file', `the file of ${bytes}`, 'whole pages', 'a page that is cut off')
      break
    case 'store_corrupt':
      faults.add('file', `the file of ${bytes}`, 'what SQLite can read', reasonOf(error))
      break
    case 'store_not_a_database':
      // Longer files are of another program: a file that is cut keeps its first bytes.
      if (size >= smallestPage || (found === undefined && !beginsAsDatabase(path))) return undefined
      faults.add('file', 'the file', 'a store', `${bytes} of one: its header is cut`)
      break
    default:
      return undefined
  }
  if (anchor !== undefined && anchor.commit > 0)
    faults.add('anchor', `commit ${anchor.commit}`, `commit ${anchor.commit}`, 'no commit that can be read')
  return {
    ok: false,
    storeId: anchor?.storeId ?? '',
    tasks: 0,
    events: 0,
    commits: 0,
    faults: faults.listed,
    faultCount: faults.count,
    lastGood: { commit: 0, at: null },
    remedy: remedyOf({ size, lastGood: 0 }),
    anchored: anchor?.commit ?? null,
    since: null,
    seal: null,
  }
}

/** The first bytes of every SQLite database. */
const magic = Buffer.from('SQLite format 3\0', 'latin1')

function beginsAsDatabase(path: string): boolean {
  const head = readFileSync(path).subarray(0, magic.length)
  return head.length > 0 && magic.subarray(0, head.length).equals(head)
}

function reasonOf({ cause, message }: Error): string {
  const { message: detail } = isRecord(cause) || cause instanceof Error ? (cause as Error) : { message }
  return detail
}

const maxFaults = 10
