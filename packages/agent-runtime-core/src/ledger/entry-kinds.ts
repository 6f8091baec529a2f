/**
 * The cause of an entry. `opening`: the credits that the client had before its first entry, or the sums of entries that were folded; `purchase`: credits that were
 * bought; `reserve`: a task has started; `settle`: a task is over, and has cost this; `refund`: it has cost less than was reserved; `set`: the
 * credits were set to a value.
 */
export const entryKinds = ['opening', 'purchase', 'reserve', 'settle', 'refund', 'set'] as const
export type EntryKind = (typeof entryKinds)[number]
