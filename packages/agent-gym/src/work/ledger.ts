import { closeSync, fsync, openSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { appendLine, wholeLines } from './lines.ts'

/** One effect, as its witness recorded it. */
export interface LedgerEntry {
  readonly taskId: string
  readonly stepKey: string
  readonly attempt: number
  readonly fencingToken: number
  readonly idempotencyKey: string
}

/** The witness of effects: it only grows, and every process of a scenario appends to the same file. */
export interface Ledger {
  /** Appends one line; resolves when it is on the disk. */
  witness(entry: LedgerEntry): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the ledger for appending (O_APPEND, one `write` a line, so lines of several processes never mix). With `sync`, a
 * witness counts only after an fsync; calls that arrive during one share the next.
 */
export function openLedger(file: string, options: { readonly sync: boolean }): Ledger {
  const descriptor = openSync(file, 'a')
  const syncShared = sharedSync(descriptor)
  return {
    async witness(entry) {
      appendLine(descriptor, formatEntry(entry))
      if (options.sync) await syncShared()
    },
    async close() {
      if (options.sync) await syncShared()
      closeSync(descriptor)
    },
  }
}

/** What a ledger says, in the order of its lines, and the lines that say nothing. One that was cut by a kill was not witnessed. */
export function readLedger(file: string): {
  readonly entries: readonly LedgerEntry[]
  readonly malformed: readonly string[]
} {
  const entries: LedgerEntry[] = []
  const malformed: string[] = []
  for (const line of wholeLines(readFileSync(file, 'utf8'))) {
    const entry = parseEntry(line)
    if (entry === undefined) malformed.push(line)
    else entries.push(entry)
  }
  return { entries, malformed }
}

function formatEntry(entry: LedgerEntry): string {
  const words = [entry.taskId, entry.stepKey, entry.attempt, entry.fencingToken, entry.idempotencyKey]
  if (words.some((word) => /\s/.test(String(word)) || word === '')) {
    throw new TypeError(`a ledger's words have no spaces: ${JSON.stringify(entry)}`)
  }
  return words.join(' ')
}

function parseEntry(line: string): LedgerEntry | undefined {
  const match = /^(\S+) (\S+) (\d+) (\d+) (\S+)$/.exec(line)
  if (match === null) return undefined
  const [, taskId = '', stepKey = '', attempt, fencingToken, idempotencyKey = ''] = match
  return { taskId, stepKey, attempt: Number(attempt), fencingToken: Number(fencingToken), idempotencyKey }
}

/** At most one fsync runs and one waits: who asks while one runs may have written after it began. */
function sharedSync(descriptor: number): () => Promise<void> {
  const sync = promisify(fsync)
  let running: Promise<void> | undefined
  let waiting: Promise<void> | undefined
  const run = () => {
    running = sync(descriptor).finally(() => {
      running = undefined
    })
    return running
  }
  return () => {
    if (running === undefined) return run()
    waiting ??= running
      .catch(() => undefined)
      .then(() => {
        waiting = undefined
        return run()
      })
    return waiting
  }
}
