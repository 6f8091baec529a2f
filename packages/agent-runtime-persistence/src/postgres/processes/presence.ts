import type { Timers } from '@ku0/agent-runtime-core'
import type { News } from '../../engine/news.ts'
import { REMOTE } from '../../process-identity.ts'
import { type Found, question, type Statement, statement } from '../connection/statement.ts'
import type { Connections } from '../connection/connections.ts'
import { isLost } from '../connection/errors.ts'
import { newsIn } from './news-text.ts'
import type { Session } from '../connection/session.ts'

interface PresenceParts {
  readonly ttlMs: number
  readonly timers: Timers
  readonly isVirtual: boolean
  readonly onHint: () => void
  /** Whether this process looks at once because another one has committed something that concerns so many. */
  readonly looksAt: (news: News) => boolean
}

/**
 * The processes of one store. Each holds a lock for as long as its connection lives, which the server takes back when the process dies,
 * however it dies, and hears on the same connection that others have committed. Behind a pooler there is neither: then silence tells that
 * a process is gone, and others' commits are looked for.
 */
export class Presence {
  others = 0
  gone: readonly number[] = []
  private readonly connections: Connections
  private readonly it: PresenceParts
  private readonly channel: string
  /** The row of this process. */
  private process = 0
  /** The row of the processes on this one's lines, which is no other process; 0 where there are none. */
  remote = 0
  private session: Session | undefined
  /** A connection that waits for {@link show}. */
  private ahead: Session | undefined
  private isClosed = false
  /** The row of this process did not come about. */
  private isHidden = false
  /** It takes its lock again, on a new connection. */
  private again: Promise<void> | undefined
  private careAt = 0
  /** Another process was heard of since the last look. */
  private isHinted = false
  /** The latest version of the store that another process said it had committed, since the last look; 0 if none did. */
  private toldVersion = 0
  /** Something of it concerns this process. */
  private isWanted = false
  /** The connection that holds this process's own lock was lost since the last look. */
  private isUnsure = false
  /** Before this, a lock that is free proves nothing. */
  private judgesAt = 0
  /** Whose lock was free at the last look. One that connects again has it by the next. */
  private suspects: ReadonlySet<number> = new Set()

  constructor(connections: Connections, it: PresenceParts) {
    this.connections = connections
    this.it = it
    this.channel = `ku0_${connections.place.schema}`.slice(0, 63)
  }

  /** How often the engine asks whether it is to look, while there are other processes. It asks before it knows of suspects. */
  get pollMs(): number {
    return this.it.isVirtual ? careMs : Math.min(this.lookMs, suspectMs)
  }

  /** After so long the server is asked again, even if nothing was heard. Where time is virtual, at every tick. */
  get lookMs(): number {
    if (this.it.isVirtual) return 0
    if (this.session?.lost !== undefined || this.session === undefined)
      return this.others > 0 ? deafPollMs : heardPollMs
    if (this.suspects.size > 0) return suspectMs
    return this.others > 0 ? Math.min(this.careMs, longestLookMs) : heardPollMs
  }

  /** Each looks at all others, over all locks of the server: the more there are, the less often each does, and together they do it as often. */
  private get careMs(): number {
    return careMs * Math.max(1, this.others / fewOthers)
  }

  /** Whether another process was heard of, besides by what {@link takeTold} tells. */
  takeHint(): boolean {
    const { isHinted } = this
    this.isHinted = false
    return isHinted
  }

  /** The version of the store that another process said it had committed; 0 if none did. */
  takeTold(): number {
    if (!this.isWanted) return 0
    const { toldVersion } = this
    this.isWanted = false
    this.toldVersion = 0
    return toldVersion
  }

  /** What did not concern this process is to be looked at now. Returns whether there may be something. */
  wantMissed(): boolean {
    if (this.toldVersion > 0) this.isWanted = true
    return this.isWanted
  }

  /** Whether others can see that this process lives. */
  get isSeen(): boolean {
    return !this.notifies || (this.session !== undefined && this.session.lost === undefined)
  }

  get notifies(): boolean {
    return this.connections.place.hasSessions
  }

  get notifyText(): string {
    return `SELECT pg_notify('${this.channel}', $1::text)`
  }

  /** Connects ahead of {@link show}. */
  async meet(): Promise<void> {
    if (this.notifies) this.ahead = await this.connect()
  }

  /** Takes this process's lock, and listens. It does so before others see the row of the process: one without a lock is taken for dead. */
  async show(process: number): Promise<void> {
    this.process = process
    this.isHidden = false
    if (this.notifies) await this.takeLock(process)
  }

  private async takeLock(process: number): Promise<void> {
    const { ahead } = this
    this.ahead = undefined
    if (ahead !== undefined)
      try {
        await this.lockOn(ahead, process)
        return
      } catch (error) {
        // The server may have ended it since.
        if (!isLost(error)) throw error
      }
    await this.lockOn(await this.connect(), process)
  }

  private async lockOn(session: Session, process: number): Promise<void> {
    try {
      await session.batch([
        statement(`SELECT pg_advisory_lock(${keyOf(this.connections.place.schema)}, $1::integer)`, [process]),
        statement(`LISTEN ${this.channel}`),
        statement(this.notifyText, [hasCome]),
      ])
    } catch (error) {
      session.drop()
      throw error
    }
    this.session = session
  }

  private async connect(): Promise<Session> {
    const session = await this.connections.open('listen')
    session.client.on('notification', ({ payload = '' }) => {
      const { writer, version, news } = newsIn(payload)
      if (writer === this.process) return
      // Who is alone counts a process that has come at once, so that it tells that of its commits. With many, each that comes would make all others count.
      const isAlone = this.others === 0
      if (isAlone) this.careAt = 0
      if (payload === hasCome) {
        // That is no commit: this process hears itself come, too.
        if (isAlone) this.hint()
        return
      }
      this.toldVersion = Math.max(this.toldVersion, version)
      if (!this.it.looksAt(news)) return
      if (version > 0) this.isWanted = true
      else this.isHinted = true
      this.it.onHint()
    })
    session.client.on('end', () => {
      if (this.session !== session || this.isClosed) return
      this.session = undefined
      // Perhaps the server was restarted: then the others have lost their locks, too.
      this.isUnsure = true
      this.hint()
      this.again = this.showAgain()
    })
    return session
  }

  /** Gives the lock back: the row of this process did not come about, and the next one gets its number. The connection is for {@link show} again. */
  async hide(): Promise<void> {
    this.isHidden = true
    // It may be about to have the lock again.
    await this.again
    const { session } = this
    if (session === undefined) return
    this.session = undefined
    this.ahead = session
    const key = keyOf(this.connections.place.schema)
    const free = statement(`SELECT pg_advisory_unlock(${key}, $1::integer)`, [this.process])
    // A connection that is lost holds no lock.
    await session.batch([free]).catch(() => session.drop())
  }

  /** At once, and until it works: without its lock this process is soon taken for dead. */
  private async showAgain(): Promise<void> {
    for (
      let pauseMs = againMs;
      !this.isClosed && !this.isHidden;
      pauseMs = Math.min(longestAgainMs, pauseMs * 2)
    )
      try {
        await this.takeLock(this.process)
        if (this.isClosed) await this.session?.end()
        return
      } catch {
        await this.connections.pause(pauseMs)
      }
  }

  private hint(): void {
    this.isHinted = true
    this.it.onHint()
  }

  /** Asks every now and then who else is there, and who of them is gone. */
  question(mono: number, now: number): readonly Statement[] {
    if (mono < this.careAt) return []
    this.careAt = mono + this.careMs
    const { process } = this
    const { ttlMs } = this.it
    // The locks of the server are looked through once, and not for each process.
    const held = `process.id::oid = ANY (ARRAY(SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid = (${keyOf(this.connections.place.schema)}::bigint & 4294967295)::oid AND granted))`
    const text = this.connections.qualified(
      `SELECT id, last_seen_at < $2::bigint, ${this.notifies ? `CASE WHEN process_id = '${REMOTE}' THEN last_seen_at >= $2::bigint ELSE ${held} END` : '(last_seen_at >= $2::bigint)'}
       FROM process WHERE ended_at IS NULL AND id NOT IN ($1::bigint, $3::bigint)`,
    )
    return [question(text, [process, now - ttlMs, this.remote])]
  }

  /** The answer to {@link question}, which was asked at `mono`. */
  take({ rows }: Found, mono: number): void {
    this.others = rows.length
    if (this.isUnsure) this.judgesAt = mono + unsureMs
    this.isUnsure = false
    const judges = mono >= this.judgesAt
    const free = new Set<number>()
    const gone: number[] = []
    for (const [id, isSilent, isHeld] of rows as readonly (readonly [number, number, number])[]) {
      if (isHeld === 1) continue
      free.add(id)
      if (isSilent === 1 || (judges && this.suspects.has(id))) gone.push(id)
    }
    this.suspects = free
    this.gone = gone
    if (free.size > 0) this.careAt = mono + suspectMs
  }

  forgetGone(): void {
    this.gone = []
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.ahead?.drop()
    await this.session?.end()
  }
}

/** The first half of the key of a process's lock. */
function keyOf(schema: string): string {
  return `hashtext('ku0 process ${schema}')`
}

/** What a process says that has just begun to listen: who was alone counts it at once. */
const hasCome = 'come'
/** How often the other processes are looked at. */
const careMs = 500
/** So many others each look at each other that often. */
const fewOthers = 10
const suspectMs = 250
/** So long the others have to take their locks again after a restart of the server. */
const unsureMs = 5_000
const againMs = 50
const longestAgainMs = 500
/** How often the server is asked by a process that is alone; and by one that does not hear others. */
const heardPollMs = 1_000
const deafPollMs = 50
/** What nobody said, as that a lease was renewed, is known after so long, beside however many. */
const longestLookMs = 2_000
