// oxlint-disable-next-line house/database-files -- SQLite's locks are on the database and on the index of its log; closing the log drops none
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { endianness } from 'node:os'

/** A place in a log at which SQLite ends, although committed transactions come behind it. */
export interface LogDamage {
  /** The first frame that is not as it was written, from 1; 0 for the header. */
  readonly frame: number
  /** Transactions behind it that can be read to their end. */
  readonly commits: number
}

/**
 * Whether committed transactions stand in the log of a database behind the frame at which SQLite ends; no anchor is needed. SQLite takes
 * the first frame that does not fit for the end. Behind it there may be frames that nobody has lost: of an earlier round of the log, with
 * another salt, and of one transaction that was never committed, because its process or the machine stopped. A frame that continues the
 * checksum of a transaction's last frame is another matter: whoever wrote it had seen that transaction committed.
 */
export function damageIn(database: string): LogDamage | undefined {
  const path = `${database}-wal`
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  const found = read(path)
  if (found === undefined) return undefined
  // Somebody may be writing: a frame that was read half written was whole before the one behind it was begun.
  const again = read(path)
  return again?.frame === found.frame ? again : undefined
}

function read(path: string): LogDamage | undefined {
  const file = openSync(path, 'r')
  try {
    const header = Buffer.alloc(headerBytes)
    if (readSync(file, header, 0, headerBytes, 0) < headerBytes) return undefined
    const found = walk(file, header)
    // Begun anew meanwhile: then these were frames of two rounds.
    const now = Buffer.alloc(headerBytes)
    readSync(file, now, 0, headerBytes, 0)
    return now.equals(header) ? found : undefined
  } finally {
    closeSync(file)
  }
}

/** Goes through all frames of the log's salt. */
function walk(file: number, header: Buffer): LogDamage | undefined {
  const isSwapped = (header.readUInt32BE(0) === bigEndianMagic) !== (endianness() === 'BE')
  const isWhole = fits(header, isSwapped)
  const frameBytes = frameHeaderBytes + (isWhole ? pageSizeOf(header) : usualPageSize)
  const chunk = Buffer.alloc(frameBytes * framesAtOnce)
  let salt = isWhole ? header.subarray(16, 24) : undefined
  /** Undefined before a frame of another salt, from which nothing follows. */
  let before: Link | undefined = linkOf(undefined, header, 24, isSwapped)
  let first: number | undefined = isWhole ? undefined : 0
  let isLost = false
  let commits = 0
  for (let done = 0; ; done += framesAtOnce) {
    const bytes = readSync(file, chunk, 0, chunk.length, headerBytes + done * frameBytes)
    const frames = Math.floor(bytes / frameBytes)
    for (let at = 0; at < frames; at += 1) {
      const frame = chunk.subarray(at * frameBytes, (at + 1) * frameBytes)
      const own = frame.subarray(8, 16)
      salt ??= Buffer.from(own)
      const link: Link | undefined = own.equals(salt) ? linkOf(before, frame, 16, isSwapped) : undefined
      if (link?.isWhole !== true) first ??= done + at + 1
      else if (first !== undefined) {
        if (before?.isCommit === true) isLost = true
        if (link.isCommit) commits += 1
      }
      before = link
    }
    if (frames < framesAtOnce) return isLost && first !== undefined ? { frame: first, commits } : undefined
  }
}

/** What the next frame goes on from. */
interface Link {
  /** It goes on from the one before, and is as it was written. */
  readonly isWhole: boolean
  /** It is whole, and ends a transaction. */
  readonly isCommit: boolean
  /** The checksum that is stored in it. */
  readonly stored: Sum
  /** The one that its content has: another where the content, or what is stored, was changed. */
  readonly computed: Sum
}

type Sum = readonly [number, number]

/** A frame, or the header, whose stored checksum is at `sumAt`. The sum covers what the header has before that, or a frame's first 8 bytes and its page. */
function linkOf(before: Link | undefined, part: Buffer, sumAt: 24 | 16, isSwapped: boolean): Link {
  const stored: Sum = [part.readInt32BE(sumAt), part.readInt32BE(sumAt + 4)]
  const isHeader = sumAt === 24
  const sumOf = (from: Sum): Sum =>
    isHeader
      ? sum(part.subarray(0, 24), from, isSwapped)
      : sum(part.subarray(frameHeaderBytes), sum(part.subarray(0, 8), from, isSwapped), isSwapped)
  const computed = isHeader ? sumOf([0, 0]) : before === undefined ? stored : sumOf(before.stored)
  const isWhole =
    (isHeader || before !== undefined) &&
    (equal(computed, stored) ||
      (before !== undefined && !before.isWhole && equal(sumOf(before.computed), stored)))
  const isCommit = !isHeader && isWhole && part.readUInt32BE(4) !== 0
  return { isWhole, isCommit, stored, computed }
}

function equal([a, b]: Sum, [c, d]: Sum): boolean {
  return a === c && b === d
}

/** SQLite's checksum, gone on with over a part of whole pairs of words. */
function sum(part: Buffer, [from0, from1]: Sum, isSwapped: boolean): Sum {
  const bytes = isSwapped || part.byteOffset % 4 > 0 ? Buffer.from(part) : part
  if (isSwapped) bytes.swap32()
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  let [s0, s1] = [from0, from1]
  for (let at = 0; at < words.length; at += 2) {
    s0 = (s0 + (words[at] as number) + s1) | 0
    s1 = (s1 + (words[at + 1] as number) + s0) | 0
  }
  return [s0, s1]
}

function fits(header: Buffer, isSwapped: boolean): boolean {
  const magic = header.readUInt32BE(0)
  const size = pageSizeOf(header)
  const isKnown = magic === littleEndianMagic || magic === bigEndianMagic
  return (
    isKnown &&
    size >= 512 &&
    size <= 65_536 &&
    (size & (size - 1)) === 0 &&
    linkOf(undefined, header, 24, isSwapped).isWhole
  )
}

function pageSizeOf(header: Buffer): number {
  return header.readUInt32BE(8)
}

const littleEndianMagic = 0x377f0682
const bigEndianMagic = 0x377f0683
const headerBytes = 32
const frameHeaderBytes = 24
/** Of every store, as SQLite makes it: where the header cannot be believed. */
const usualPageSize = 4_096
const framesAtOnce = 256
