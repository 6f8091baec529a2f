import {
  type AcceptedLoss,
  type DataLoss,
  fits,
  isOneOf,
  isRecord,
  type Rules,
  StoreError,
  wholeNumber,
} from '@ku0/agent-runtime-core'

/** The records in a text; one that nobody wrote so is a fault, and the others count. */
export function readLosses(text = '[]'): LossRecords {
  const records = listIn(text)
  if (records === undefined)
    return { losses: [], faults: [{ expected: 'a list of accepted losses', actual: text }] }
  const read = records.map((it) => ({ it, record: recordOf(it) }))
  return {
    losses: read.flatMap(({ record }) => record ?? []),
    faults: read
      .filter(({ record }) => record === undefined)
      .map(({ it }) => ({ expected: 'the record of an accepted loss', actual: JSON.stringify(it) })),
  }
}

/** What is kept of the losses that were accepted. */
export interface LossRecords {
  readonly losses: readonly AcceptedLoss[]
  readonly faults: readonly { readonly expected: string; readonly actual: string }[]
}

function listIn(text: string): readonly unknown[] | undefined {
  const value = jsonIn(text)
  return Array.isArray(value) ? value : undefined
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A time that a date can have. */
const time = wholeNumber(0, 8.64e15)
const number = wholeNumber(0, Number.MAX_SAFE_INTEGER)
const foundRules: Rules<DataLoss> = {
  kind: isOneOf(['lost_tail', 'other_history', 'other_store', 'damaged_log']),
  anchored: number,
  lastGood: number,
  lastGoodAt: [`${time[0]}, or null`, (value) => value === null || time[1](value)],
}
const lossRules: Rules<AcceptedLoss> = { ...foundRules, acceptedAt: time }

/** The record as far as it is known: a later version may add to it. */
function recordOf(it: unknown): AcceptedLoss | undefined {
  if (!isRecord(it)) return undefined
  const known = Object.fromEntries(Object.keys(lossRules).map((field) => [field, it[field]]))
  return fits(known, lossRules) ? known : undefined
}

/** The text of the records with one more. Throws `store_corrupt` where the earlier ones cannot be read: they would be gone. */
export function withLoss(text: string | undefined, location: string, loss: AcceptedLoss): string {
  const { losses, faults } = readLosses(text)
  if (faults.length > 0)
    throw new StoreError(
      'store_corrupt',
      `${location}: the record of accepted losses is damaged; run verify to see where, and restore a backup`,
    )
  return JSON.stringify([...losses, loss].slice(-maxLosses))
}

const maxLosses = 100

/** The row of `meta` by which a process tells those after it which commits a store on PostgreSQL lacks. */
export const lostCommits = 'lost_commits'

/** What such a row says; undefined for one that nobody wrote so. */
export function readLoss(text: string): DataLoss | undefined {
  const it = jsonIn(text)
  if (!isRecord(it)) return undefined
  const known = Object.fromEntries(Object.keys(foundRules).map((field) => [field, it[field]]))
  return fits(known, foundRules) ? known : undefined
}
