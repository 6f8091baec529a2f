import {
  type ExecutionConfig,
  type IdCodec,
  type Read,
  type ReadKind,
  type Reads,
  RuntimeError,
} from '@ku0/agent-runtime-core'
import type { Instant } from '@ku0/agent-runtime-core/transition'
import type { LocalCounts } from '../../engine/database.ts'
import type { Hashes } from '../../sqlite/integrity.ts'
import { StoredTables } from '../../sqlite/stored-tables.ts'
import { prepareReads } from '../../views/reads.ts'
import { Asking, isMissing } from './asked.ts'
import type { Connections } from '../connection/connections.ts'
import { isPassing } from '../connection/errors.ts'
import { prepareFarLoad } from './load.ts'
import type { Session } from '../connection/session.ts'

interface ReaderParts {
  readonly connections: Connections
  readonly ids: IdCodec
  readonly hashes: Hashes
  readonly config: () => ExecutionConfig
  readonly now: () => Instant
}

type Answer = Reads[ReadKind]['answer']

interface Asked {
  readonly query: Read
  readonly counts: LocalCounts
  readonly answer: PromiseWithResolvers<Answer>
  isAnswered: boolean
}

/** Questions that are answered from one state of the store. */
const mostTogether = 256

/** Answers questions on a connection of its own, each from one state of the store: flushes go on beside it. */
export class Reader {
  private readonly connections: Connections
  private readonly asking = new Asking()
  private readonly answer
  private counts: LocalCounts = { staleWrites: 0, commits: 0, repeatedFlushes: 0 }
  private readonly now: () => Instant
  /** Of one state: a question that names the time would be another one whenever the reading is run again, and never be answered. */
  private at: Instant
  private session: Promise<Session> | undefined
  private waiting: Asked[] = []
  private running: Promise<void> | undefined

  constructor({ connections, ids, hashes, config, now }: ReaderParts) {
    this.connections = connections
    this.now = now
    this.at = now()
    const { asking } = this
    const names = asking.prepare<[number], string>('SELECT process_id FROM process WHERE id = ?').pluck()
    this.answer = prepareReads({
      db: asking,
      tables: new StoredTables(asking, ids, hashes, prepareFarLoad(asking)),
      get config() {
        return config()
      },
      now: () => this.at,
      processId: (process) => names.get(process),
      local: () => this.counts,
    })
  }

  /** What comes in while others are answered is answered with the next, all of it together. */
  read(query: Read, counts: LocalCounts): Promise<Answer> {
    const asked = { query, counts, answer: Promise.withResolvers<Answer>(), isAnswered: false }
    this.waiting.push(asked)
    this.running ??= this.run()
    return asked.answer.promise
  }

  private async run(): Promise<void> {
    // Those of one turn of the event loop are answered together.
    await Promise.resolve()
    while (this.waiting.length > 0) {
      const together = this.waiting.splice(0, mostTogether)
      try {
        await this.tell(together)
      } catch (error) {
        // The server may have refused one of them, and does not say which; when it is away, all of them fail.
        const isOneOf = together.length > 1 && !isPassing(error) && !(error instanceof RuntimeError)
        for (const asked of together)
          if (isOneOf) await this.tell([asked]).catch(asked.answer.reject)
          else asked.answer.reject(error)
      }
    }
    // In this very turn: who comes next begins anew.
    this.running = undefined
  }

  /** A connection that is lost meanwhile is replaced once. */
  private async tell(together: readonly Asked[]): Promise<void> {
    const ask = async () => {
      const session = await this.connected()
      this.at = this.now()
      await this.inOneState(session, this.asking, () => this.answerAll(together))
    }
    try {
      await ask()
    } catch (error) {
      if (!isPassing(error)) throw error
      await ask()
    }
  }

  private answerAll(together: readonly Asked[]): void {
    this.asking.ahead(together, (asked) => {
      if (asked.isAnswered) return
      this.counts = asked.counts
      try {
        asked.answer.resolve(this.answer(asked.query))
      } catch (error) {
        if (isMissing(error)) throw error
        asked.answer.reject(error)
      }
      asked.isAnswered = true
    })
  }

  /** Runs a reading whose answers are all of one state. */
  async inOneState<T>(session: Session, asking: Asking, read: () => T): Promise<T> {
    const began = session.run(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${this.connections.prelude}`)
    began.catch(() => undefined)
    try {
      return await asking.answer(session, read)
    } finally {
      // What comes next on the connection waits for it.
      if (session.lost === undefined) session.run('COMMIT').catch(() => undefined)
    }
  }

  async close(): Promise<void> {
    const { session } = this
    await this.running
    await (await session?.catch(() => undefined))?.end()
  }

  private async connected(): Promise<Session> {
    if ((await this.session?.catch(() => undefined))?.lost === undefined && this.session !== undefined)
      return this.session
    this.session = this.connections.open('read')
    this.session.catch(() => (this.session = undefined))
    return this.session
  }
}
