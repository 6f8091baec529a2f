import type { IdCodec } from '../store/ids.ts'
import { MICRO } from '../budget/usage.ts'
import type { CreditRequest } from '../share/client.ts'
import type { EntryRow } from './row.ts'
import { type EntryKind } from './entry-kinds.ts'

/** An entry of a client's ledger. Source: `docs/credits.md`, `docs/semantics.md 11.8`. */
export interface LedgerEntry {
  readonly client: string
  /** Its number in the client's ledger, from 1. */
  readonly seq: number
  /** Epoch ms. */
  readonly at: number
  readonly kind: EntryKind
  /** By how much it changed the client's credits, and the part of them that is reserved for tasks. */
  readonly amount: number
  readonly held: number
  /** The client's free credits afterwards, and those that are reserved. */
  readonly credits: number
  readonly reserved: number
  /** The task that it is about. */
  readonly taskId?: string
  /** The key of a purchase, and the note that came with it. */
  readonly key?: string
  readonly note?: string
  /** One sentence for a person. */
  readonly why: string
}

/** The credits of a client. */
export interface CreditBalance {
  readonly client: string
  /** Free credits; below 0 where tasks have cost more than there was. */
  readonly credits: number
  /** Credits that are reserved for tasks that have started and are not over. */
  readonly reserved: number
  /** The cost of its tasks that have ended. */
  readonly spent: number
  /** How many entries its ledger has had. */
  readonly entries: number
  /** An open request for credits. */
  readonly asks?: CreditRequest
}

/** The most credits that a purchase may lead to. */
export const MAX_CREDITS = 1_000_000_000

/** As a person reads it. */
export function ledgerEntryOf(
  row: EntryRow,
  ids: IdCodec,
  nameOf: (task: number) => string | null,
): LedgerEntry {
  const { client, seq, at, kind, task, key, note } = row
  const taskId = task === null ? undefined : (nameOf(task) ?? ids.task(task))
  return {
    client,
    seq,
    at,
    kind,
    amount: row.amount / MICRO,
    held: row.held / MICRO,
    credits: row.credits / MICRO,
    reserved: row.reserved / MICRO,
    ...(taskId === undefined ? {} : { taskId }),
    ...(key === null ? {} : { key }),
    ...(note === null ? {} : { note }),
    why: whyOf(row, taskId ?? ''),
  }
}

function whyOf({ seq, kind, amount, held, note }: EntryRow, taskId: string): string {
  const [credits, reserved] = [amount / MICRO, held / MICRO]
  switch (kind) {
    case 'opening':
      return note === null
        ? `the client had ${credits} credits before its first entry`
        : `the entries up to this one were folded into it: ${seq} entries, which came to ${credits} free credits and ${reserved} reserved ones`
    case 'purchase':
      return `${credits} credits were bought${note === null ? '' : `: ${note}`}`
    case 'reserve':
      return `task ${taskId} started, and its estimate of ${reserved} is reserved`
    case 'settle': {
      const cost = `task ${taskId} is over and has cost ${-(credits + reserved)}`
      return credits === 0
        ? `${cost}, out of what was reserved`
        : `${cost}, ${-credits} more than was reserved`
    }
    case 'refund':
      return `task ${taskId} has cost ${credits} less than was reserved`
    case 'set':
      return `the credits were set, which changed them by ${credits}`
  }
}
