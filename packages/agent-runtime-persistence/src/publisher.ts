import type { Interest, OutputChunk, Read, ReadKind, Reads, StoredEvent } from '@ku0/agent-runtime-core'
import type { WorkingSet } from '@ku0/agent-runtime-core/transition'
import { alsoOf, wantedBy, type Wants } from './published.ts'
import type { SqliteTables } from './sqlite/tables.ts'

/** Where what is published goes: the turn that is being put together. */
export interface Published {
  readonly events: StoredEvent[]
  readonly chunks: OutputChunk[]
}

/** Says what was committed, by this process and by others, as far as this one wants to hear of it; each commit once. */
export class Publisher {
  private readonly tables: SqliteTables
  private readonly read: (query: Read) => Reads[ReadKind]['answer']
  private wants: Wants | undefined
  /** The journal's number of the last commit that was published. */
  private published: number
  /** By task whose output is followed: the last chunk that was. */
  private readonly outputSeen = new Map<string, number>()

  constructor(tables: SqliteTables, read: (query: Read) => Reads[ReadKind]['answer']) {
    this.tables = tables
    this.read = read
    this.published = tables.last.number
  }

  /** Of a task's output stream, what comes after this is live; the rest is history, to be read. */
  follow(interest: Interest): void {
    this.wants = wantedBy(interest)
    for (const taskId of this.outputSeen.keys())
      if (!interest.tasks.includes(taskId)) this.outputSeen.delete(taskId)
    // It answers nobody, so nothing may be wrong with it: what is no id is followed by none.
    for (const taskId of interest.tasks.filter((id) => typeof id === 'string'))
      if (!this.outputSeen.has(taskId)) this.outputSeen.set(taskId, this.lastOutput(taskId))
  }

  /** What a flush of this process committed. */
  publish(into: Published, ws: WorkingSet): void {
    const { tables, wants } = this
    if (ws.events.length > 0) this.published = tables.last.number
    if (wants === undefined) return
    const nameOf = (task: number) => ws.task(task)?.explicitId ?? tables.ids.task(task)
    for (const event of ws.events) {
      const isNamed = wants.name(event.type, event.also)
      if (!isNamed && wants.task === undefined) continue
      const taskId = nameOf(event.task)
      if (!isNamed && wants.task?.(taskId) !== true) continue
      const { seq, type, at, hash, also, blob } = event
      const data =
        blob === null
          ? event.data
          : tables.withBlob(event.data, blob, ws.blobs.get(blob) ?? tables.load.blob(blob) ?? '')
      into.events.push({ taskId, seq, type, at, data, hash: Buffer.from(hash).toString('hex'), also })
    }
    for (const { task, seq, attempt, at, data } of ws.outputs) {
      const taskId = nameOf(task)
      const seen = this.outputSeen.get(taskId)
      if (seen === undefined || seq <= seen) continue
      this.outputSeen.set(taskId, seq)
      into.chunks.push({ taskId, seq, attempt, at, data })
    }
  }

  /**
   * What other processes committed since the last look, by the journal. `ownWrote`: its last row is this process's own, to be
   * published by {@link publish}; `foreign`: others wrote, were it only output.
   */
  publishForeign(into: Published, ownWrote: boolean, foreign: boolean): void {
    const { tables, wants } = this
    const until = tables.last.number - (ownWrote ? 1 : 0)
    if (!foreign && this.published >= until) return
    if (wants !== undefined) {
      for (const { number, touched } of tables.journal.after(this.published, until - this.published)) {
        if (number > until) break
        for (const [task, first, last] of touched) {
          const taskId = tables.load.task(task)?.explicitId ?? tables.ids.task(task)
          const query: Read<'events'> = { kind: 'events', taskId, after: first - 1, limit: last - first + 1 }
          for (const event of (this.read(query) as readonly StoredEvent[] | undefined) ?? [])
            if (wants.name(event.type, alsoOf(event)) || wants.task?.(taskId) === true)
              into.events.push({ ...event, also: alsoOf(event), elsewhere: true })
        }
      }
      this.publishForeignOutput(into)
    }
    this.published = until
  }

  private publishForeignOutput(into: Published): void {
    const limit = 1_000
    for (const [taskId, seen] of this.outputSeen) {
      for (let after = seen, more = true; more;) {
        const query: Read<'output'> = { kind: 'output', taskId, after, limit }
        const chunks = (this.read(query) as readonly OutputChunk[] | undefined) ?? []
        into.chunks.push(...chunks)
        after = chunks.at(-1)?.seq ?? after
        more = chunks.length === limit
        this.outputSeen.set(taskId, after)
      }
    }
  }

  private lastOutput(taskId: string): number {
    const number = this.tables.load.explicit(taskId) ?? this.tables.ids.taskNumber(taskId)
    return number === undefined ? 0 : this.tables.load.outputs(number)
  }
}
