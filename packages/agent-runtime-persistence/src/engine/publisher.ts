import type { Interest, OutputChunk, Read, StoredEvent } from '@ku0/agent-runtime-core'
import { blobReference, type WorkingSet } from '@ku0/agent-runtime-core/transition'
import type { Database, LocalCounts } from './database.ts'
import { alsoOf, wantedBy, type Wants } from './published.ts'
import { got, type Steps } from './steps.ts'

/** Where what is published goes: the turn that is being put together. */
export interface Published {
  readonly events: StoredEvent[]
  readonly chunks: OutputChunk[]
}

/** A commit that is to be published. */
interface Waiting {
  readonly ws: WorkingSet
  /** Others have written before it, up to this number of the journal. */
  readonly isBehind: boolean
  readonly until: number
  readonly lastCommit: number
}

/** Says what was committed, by this process and by others, as far as this one wants to hear of it; each commit once. */
export class Publisher {
  private readonly db: Database
  private wants: Wants | undefined
  /** The journal's number of the last commit that was published. */
  private published: number
  /** What this process committed and has not published yet, in its order: what others did before could not be asked for. */
  private readonly waiting: Waiting[] = []
  /** By task whose output is followed: the last chunk that was. */
  private readonly outputSeen = new Map<string, number>()

  constructor(db: Database) {
    this.db = db
    this.published = db.lastCommit
  }

  /** Whether it wants to hear of anything. */
  get follows(): boolean {
    return this.wants !== undefined || this.outputSeen.size > 0
  }

  /** Events that are committed from now on are heard. */
  expect(interest: Interest): void {
    this.wants = wantedBy(interest)
  }

  /** Of a task's output stream, what comes after this is live; the rest is history, to be read. */
  *follow(interest: Interest): Steps<void> {
    this.expect(interest)
    for (const taskId of this.outputSeen.keys())
      if (!interest.tasks.includes(taskId)) this.outputSeen.delete(taskId)
    // It answers nobody, so nothing may be wrong with it: what is no id is followed by none.
    for (const taskId of interest.tasks.filter((id) => typeof id === 'string'))
      if (!this.outputSeen.has(taskId)) this.outputSeen.set(taskId, yield* this.history(taskId))
  }

  /**
   * What a flush of this process committed, and before it what others did. `foreign`: they wrote, were it only output. What cannot be asked for, since the
   * database went away, is published with a later flush, in its order.
   */
  *publish(into: Published, ws: WorkingSet, foreign: boolean): Steps<void> {
    const { lastCommit } = this.db
    const until = lastCommit - (ws.events.length > 0 ? 1 : 0)
    this.waiting.push({ ws, isBehind: foreign || this.published < until, until, lastCommit })
    try {
      for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
        if (next.isBehind) yield* this.publishForeign(into, next.until)
        yield* this.publishOwn(into, next.ws)
        this.published = next.lastCommit
        this.waiting.shift()
      }
    } catch (error) {
      if (!this.db.isPassing(error)) throw error
    }
  }

  private *publishOwn(into: Published, ws: WorkingSet): Steps<void> {
    const { db, wants } = this
    if (wants === undefined) return
    const nameOf = (task: number) => ws.task(task)?.explicitId ?? db.ids.task(task)
    const events: StoredEvent[] = []
    for (const event of ws.events) {
      const isNamed = wants.name(event.type, event.also)
      if (!isNamed && wants.task === undefined) continue
      const taskId = nameOf(event.task)
      if (!isNamed && wants.task?.(taskId) !== true) continue
      const { seq, type, at, hash, also, blob } = event
      let { data } = event
      if (blob !== null) {
        const text = ws.blobs.get(blob) ?? (yield* this.blobText(blob))
        data = data.replace(blobReference(blob, text.length), () => text)
      }
      events.push({ taskId, seq, type, at, data, hash: Buffer.from(hash).toString('hex'), also })
    }
    into.events.push(...events)
    for (const { task, taskId = nameOf(task), seq, attempt, at, data } of ws.outputs) {
      const seen = this.outputSeen.get(taskId)
      if (seen === undefined || seq <= seen) continue
      this.outputSeen.set(taskId, seq)
      into.chunks.push({ taskId, seq, attempt, at, data })
    }
  }

  /** What other processes committed since the last look, by the journal. */
  private *publishForeign(into: Published, until: number): Steps<void> {
    const { db, wants } = this
    if (wants !== undefined) {
      for (const event of yield* got(db.eventsAfter(this.published, until)))
        if (wants.name(event.type, alsoOf(event)) || wants.task?.(event.taskId) === true)
          into.events.push({ ...event, also: alsoOf(event), elsewhere: true })
      this.published = until
      yield* this.publishForeignOutput(into)
    }
    this.published = until
  }

  private *publishForeignOutput(into: Published): Steps<void> {
    const limit = 1_000
    for (const [taskId, seen] of this.outputSeen) {
      for (let after = seen, more = true; more;) {
        const query: Read<'output'> = { kind: 'output', taskId, after, limit }
        const answer = yield* got(this.db.read(query, noCounts))
        const chunks = (answer as readonly OutputChunk[] | undefined) ?? []
        into.chunks.push(...chunks)
        after = chunks.at(-1)?.seq ?? after
        more = chunks.length === limit
        this.outputSeen.set(taskId, after)
      }
    }
  }

  private *blobText(sha256: string): Steps<string> {
    const { blobs = [] } = yield* got(this.db.load({ blobs: [sha256] }))
    return blobs[0]?.[1] ?? ''
  }

  /** The last chunk that is history. Where the database cannot be asked, all are told: who follows knows what it has read. */
  private *history(taskId: string): Steps<number> {
    try {
      return yield* this.lastOutput(taskId)
    } catch (error) {
      if (this.db.isPassing(error)) return 0
      throw error
    }
  }

  private *lastOutput(taskId: string): Steps<number> {
    const { explicitIds = [] } = yield* got(this.db.load({ explicitIds: [taskId] }))
    const number = explicitIds[0]?.[1] ?? this.db.ids.taskNumber(taskId)
    if (number === undefined) return 0
    const { outputs = [] } = yield* got(this.db.load({ outputs: [number] }))
    return outputs[0]?.[1] ?? 0
  }
}

const noCounts: LocalCounts = { staleWrites: 0, commits: 0, repeatedFlushes: 0 }
