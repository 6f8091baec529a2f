import type { StoreInfo } from '@ku0/agent-runtime-core'
import { openPostgresLine, type PostgresStoreOptions } from '../postgres/store.ts'
import type { AsyncLine } from './async-line.ts'
import { StoreFront, type Line } from './front.ts'
import type { Message } from '../engine/message.ts'
import { SleepWatch } from './sleep-watch.ts'

/** A store on PostgreSQL in the thread of its callers: it waits for the server without holding the thread up. */
export async function openInlinePostgres(
  options: Omit<PostgresStoreOptions, 'stalledMs'>,
): Promise<{ readonly store: StoreFront; readonly line: AsyncLine }> {
  const store = new StoreFront()
  const line = await openPostgresLine({ ...options, stalledMs: () => 0 }, store)
  return {
    store: store.connect(new InlinePostgresLine(line, new SleepWatch(options.environment.clock))),
    line,
  }
}

class InlinePostgresLine implements Line {
  private readonly line: AsyncLine
  private readonly sleep: SleepWatch
  /** When it last showed that it is awake. */
  private seenAt = 0

  constructor(line: AsyncLine, sleep: SleepWatch) {
    this.line = line
    this.sleep = sleep
  }

  get info(): StoreInfo {
    return this.line.info
  }

  send(message: Message): void {
    this.line.send(message)
  }

  mayHaveSlept(): boolean {
    return this.sleep.isFresh(this.look())
  }

  timesSlept(): number {
    this.look()
    return this.sleep.times
  }

  private look(): number {
    this.seenAt = this.sleep.awake(Math.max(this.line.dueAt, this.seenAt))
    return this.seenAt
  }

  end(): Promise<void> {
    return this.line.end()
  }
}
