import type { Timers } from '@ku0/agent-runtime-core'
import type { Connections } from './connections.ts'
import type { Session } from './session.ts'

interface PresenceParts {
  readonly process: number
  readonly ttlMs: number
  readonly timers: Timers
  readonly onHint: () => void
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
  private session: Session | undefined
  private isClosed = false
  private careAt = 0
  /** Whose lock was free at the last look. One that connects again has it by the next. */
  private suspects: ReadonlySet<number> = new Set()

  constructor(connections: Connections, it: PresenceParts) {
    this.connections = connections
    this.it = it
    this.channel = `ku0_${connections.place.schema}`.slice(0, 63)
  }

  /** Others' commits are heard of; this is how often they are looked for besides. */
  get pollMs(): number {
    return this.session?.lost === undefined && this.session !== undefined ? heardPollMs : deafPollMs
  }

  get notifies(): boolean {
    return this.connections.place.hasSessions
  }

  get notifyText(): string {
    return `SELECT pg_notify('${this.channel}', $1::text)`
  }

  /** Takes this process's lock, and listens. */
  async show(): Promise<void> {
    if (!this.notifies) return
    const session = await this.connections.open('listen')
    const own = String(this.it.process)
    session.client.on('notification', ({ payload }) => {
      if (payload !== own) this.it.onHint()
    })
    await session.query(`SELECT pg_advisory_lock(${keyOf(this.connections.place.schema)}, $1::integer)`, [
      this.it.process,
    ])
    await session.run(`LISTEN ${this.channel}`)
    this.session = session
  }

  /** Who else is there, and who of them is gone: every now and then. */
  async look(on: Session, qualified: (text: string) => string, mono: number, now: number): Promise<void> {
    if (mono < this.careAt) return
    this.careAt = mono + careMs
    if (this.session?.lost !== undefined && !this.isClosed) {
      this.session = undefined
      void this.show().catch(() => undefined)
    }
    const { process, ttlMs } = this.it
    const held = `EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid = (${keyOf(this.connections.place.schema)}::bigint & 4294967295)::oid AND objid = process.id::oid AND granted)`
    const { rows } = await on.query(
      qualified(
        `SELECT id, last_seen_at < $2::bigint, ${this.notifies ? held : '(last_seen_at >= $2::bigint)'} FROM process WHERE ended_at IS NULL AND id <> $1::bigint`,
      ),
      [process, now - ttlMs],
    )
    this.others = rows.length
    const free = new Set<number>()
    const gone: number[] = []
    for (const [id, isSilent, isHeld] of rows as readonly (readonly [number, number, number])[]) {
      if (isHeld === 1) continue
      free.add(id)
      if (isSilent === 1 || this.suspects.has(id)) gone.push(id)
    }
    this.suspects = free
    this.gone = gone
  }

  forgetGone(): void {
    this.gone = []
  }

  async close(): Promise<void> {
    this.isClosed = true
    await this.session?.end()
  }
}

/** The first half of the key of a process's lock. */
function keyOf(schema: string): string {
  return `hashtext('ku0 process ${schema}')`
}

/** How often the other processes are looked at. */
const careMs = 500
const heardPollMs = 500
const deafPollMs = 50
