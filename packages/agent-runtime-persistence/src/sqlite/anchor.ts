import { hash } from 'node:crypto'
// oxlint-disable-next-line house/database-files -- the anchor is no database: SQLite has no lock on it that could be dropped
import {
  closeSync,
  constants,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs'
import { StoreError } from '@ku0/agent-runtime-core'
import { anchorPath } from '../anchor-path.ts'
import type { Durability } from '../durability.ts'
import { isFull } from './full-disk.ts'
import { rightsAsOf } from './rights.ts'

/** The last commit that a store is known to have had, told outside its database (T6). */
export interface Anchor {
  readonly storeId: string
  /** The journal's number. 0: the store had been made, and nothing written yet. */
  readonly commit: number
  /** The journal's hash of it, in hex. */
  readonly hash: string
  /** How it was written, and in which boot of the machine, in one word. */
  readonly durability: Durability
  readonly boot: string
}

/** The boot of a machine as the anchor names it. */
export function bootWord(bootId: string): string {
  return bootId.replaceAll(/\s/g, '_').slice(0, 64)
}

/**
 * What the anchor file beside a database says; undefined where there is none, or nothing in it. Throws `store_corrupt` where nothing of what is in
 * it can be believed: whether commits are missing cannot be told then.
 */
export function readAnchor(path: string): Anchor | undefined {
  const anchor = lookForAnchor(path)
  if (anchor !== 'unreadable') return anchor
  throw new StoreError(
    'store_corrupt',
    `${anchorPath(path)} is damaged, so missing commits of ${path} cannot be detected. Keep a copy of the files and restore a backup; or remove the anchor to continue with what is there`,
  )
}

/** The same for whoever goes on without one. */
export function lookForAnchor(path: string): Anchor | 'unreadable' | undefined {
  const file = anchorPath(path)
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  let last: Anchor | undefined
  const text = readFileSync(file, 'latin1')
  for (let at = 0; at < text.length; at += slotBytes) {
    const anchor = anchorIn(text.slice(at, at + slotBytes))
    if (anchor !== undefined && anchor.commit >= (last?.commit ?? 0)) last = anchor
  }
  // Zeros are what a power loss leaves of a file that was made just before.
  if (last === undefined && /[^\0]/.test(text)) return 'unreadable'
  return last
}

/**
 * Writes the anchor after each commit: one write of one slot, no more. Several processes write one file, each commit to the slot of its
 * number: one that is late overwrites an older commit and not the last. A slot never crosses a sector, and says when it is torn.
 */
export class AnchorFile {
  private readonly path: string
  private readonly prefix: string
  private readonly suffix: string
  private readonly syncs: boolean
  private readonly slot = Buffer.alloc(slotBytes, ' ')
  /** Undefined while there is no room for one. */
  private file: number | undefined
  private inode = 0
  private last: { readonly number: number; readonly hash: Uint8Array } | undefined
  /** When it was synced last, or first had something to sync, on the monotonic clock. */
  private syncedAt = Number.NEGATIVE_INFINITY
  private isDirty = false
  /** The last commit is not in it: there was no room. */
  private isBehind = false

  /** `isEmpty`: what it says is not to count any more. */
  constructor(
    path: string,
    { storeId, durability, boot }: Omit<Anchor, 'commit' | 'hash'>,
    isEmpty: boolean,
  ) {
    this.path = path
    this.prefix = `${LAYOUT} ${storeId} `
    this.suffix = ` ${durability} ${boot}`
    // Where a power loss may take the last commits anyway, nothing is gained by a sync.
    this.syncs = durability === 'full'
    this.slot[slotBytes - 1] = 0x0a
    const file = this.open()
    if (isEmpty) ftruncateSync(file)
  }

  /** Where there is no room for it, what was committed stands all the same. Nothing more is to be committed before {@link AnchorFile.catchUp} has made up for it. */
  write(last: { readonly number: number; readonly hash: Uint8Array }): void {
    this.last = last
    this.isDirty = true
    this.isBehind = true
    this.whereThereIsRoom(() => this.catchUp())
  }

  /** Throws `store_full` where there is still no room for the last commit. */
  catchUp(): void {
    if (!this.isBehind || this.last === undefined) return
    const { number, hash: digest } = this.last
    const digits = Buffer.from(digest).toString('hex')
    const text = `${this.prefix}${number} ${digits}${this.suffix}`
    const line = `${text} ${checkOf(text)}`
    this.slot.fill(' ', this.slot.write(line, 'latin1'), slotBytes - 1)
    const file = this.file ?? this.open()
    this.on(() => writeSync(file, this.slot, 0, slotBytes, (number % slots) * slotBytes))
    this.isBehind = false
  }

  /** Puts what was written on the disk, once a second at most; makes the file anew when somebody has removed it. A full disk makes it wait. */
  care(mono: number): void {
    if (!this.isDirty || mono - this.syncedAt < syncEveryMs) return
    this.syncedAt = mono
    this.whereThereIsRoom(() => {
      if (statSync(anchorPath(this.path), { throwIfNoEntry: false })?.ino !== this.inode) {
        this.close()
        this.isBehind = true
      }
      this.catchUp()
      const { file } = this
      if (this.syncs && file !== undefined) this.on(() => fdatasyncSync(file))
      this.isDirty = false
    })
  }

  close(): void {
    if (this.file === undefined) return
    const { file } = this
    this.file = undefined
    try {
      closeSync(file)
    } catch {
      // It is closed all the same, and what was synced is on the disk.
    }
  }

  /** With the rights of the database: whoever may write that may write this. */
  private open(): number {
    const file = anchorPath(this.path)
    return this.on(() => {
      const isNew = statSync(file, { throwIfNoEntry: false }) === undefined
      const opened = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600)
      this.file = opened
      this.inode = statSync(file).ino
      if (isNew) rightsAsOf(this.path, file)
      return opened
    })
  }

  /** What a full disk refuses is tried again later: it may be on no disk, even if it was written. */
  private whereThereIsRoom(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!isFull(error)) throw error
      this.isBehind = true
    }
  }

  private on<T>(act: () => T): T {
    try {
      return act()
    } catch (cause) {
      throw anchorError(anchorPath(this.path), cause)
    }
  }
}

/** Without its anchor a store does not go on: the next start could not tell what is missing. */
function anchorError(file: string, cause: unknown): StoreError {
  const detail = cause instanceof Error ? cause.message : String(cause)
  if (isFull(cause))
    return new StoreError('store_full', `${file}: the disk is full; free space, then try again`, { cause })
  if ((cause as { code?: unknown }).code === 'EIO')
    return new StoreError(
      'store_io',
      `${file}: reading or writing failed (${detail}); check the disk, then start again`,
      { cause },
    )
  return new StoreError(
    'store_read_only',
    `${file} cannot be written (${detail}); give this user write access to it`,
    { cause },
  )
}

function anchorIn(line: string): Anchor | undefined {
  const fields = line.trimEnd().split(' ')
  const [layout, storeId = '', number = '', digits = '', durability, boot = '', check] = fields
  if (layout !== LAYOUT || checkOf(fields.slice(0, -1).join(' ')) !== check) return undefined
  if (durability !== 'full' && durability !== 'normal') return undefined
  return { storeId, commit: Number(number), hash: digits, durability, boot }
}

function checkOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16)
}

const LAYOUT = 'ku0.anchor.1'
/** Half a sector, so that none is ever half old. */
const slotBytes = 256
const slots = 8
const syncEveryMs = 1_000
