import type { StoreFault } from '@ku0/agent-runtime-core'

/** What was found, a limited number in full. */
export class Faults {
  readonly listed: StoreFault[] = []
  count = 0
  /** By task: the first event that is not as it was written. */
  readonly events = new Map<number, number>()
  /** The first commit that is not as it was written. */
  firstCommit = Number.POSITIVE_INFINITY
  private readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  add(what: StoreFault['what'], where: string, expected: unknown, actual: unknown): void {
    this.count += 1
    if (this.listed.length < this.limit)
      this.listed.push({ what, where, expected: shown(expected), actual: shown(actual) })
  }

  /** Where both are numbers, texts or nothing. */
  same(where: string, expected: unknown, actual: unknown): void {
    if ((expected ?? null) !== (actual ?? null)) this.add('row', where, expected, actual)
  }

  /** A check of rows that somebody may have made unreadable: then that is what is wrong. What SQLite itself says is thrown on. */
  reading(where: string, check: () => void): void {
    try {
      check()
    } catch (error) {
      if (String((error as { code?: unknown }).code).startsWith('SQLITE_')) throw error
      this.add('row', where, 'rows that can be read', (error as Error).message)
    }
  }

  event(task: number, seq: number, expected: string, actual: string): void {
    this.add('event', `task ${task}, event ${seq}`, expected, actual)
    this.events.set(task, Math.min(seq, this.events.get(task) ?? seq))
  }

  commit(number: number, expected: string, actual: string): void {
    this.add('journal', `commit ${number}`, expected, actual)
    this.firstCommit = Math.min(this.firstCommit, number)
  }
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}

const maxShown = 500
