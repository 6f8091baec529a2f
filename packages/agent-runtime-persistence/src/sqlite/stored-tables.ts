import { type CheckpointRecord, type IdCodec, type StartedStep } from '@ku0/agent-runtime-core'
import { blobReference, checkpointText, type PlainEvent, startsIn } from '@ku0/agent-runtime-core/transition'
import type { Queries } from '../views/queries.ts'
import { type Hashes, prepareIntegrity } from './integrity.ts'
import { prepareLoad, type Load } from './load.ts'

/** The tables of a store as they are read, in whatever database they stand. */
export class StoredTables {
  readonly load: Load
  readonly ids: IdCodec
  /** What is wrong with a task's events. */
  readonly faultOf
  private readonly sha256Hex: Hashes['sha256Hex']

  constructor(db: Queries, ids: IdCodec, hashes: Hashes, load: Load = prepareLoad(db)) {
    this.ids = ids
    this.sha256Hex = hashes.sha256Hex
    this.load = load
    this.faultOf = prepareIntegrity({ db, load, hashes })
  }

  /** The data of an event with its blob put back; undefined when there is no such event. */
  event(task: number, seq: number): string | undefined {
    const row = this.load.event(task, seq)
    if (row === undefined) return undefined
    if (row.blob === null) return row.data
    return this.withBlob(row.data, row.blob, this.load.blob(row.blob) ?? '')
  }

  /**
   * The newest checkpoint of a task. One that is not what its event says was changed or damaged, and counts as none: it is a cache, and
   * what is recorded says the rest.
   */
  checkpoint(task: number): CheckpointRecord | undefined {
    const row = this.load.checkpoint(task)
    if (row === undefined || row.event !== checkpointText(row.data, this.sha256Hex)) return undefined
    const { seq, at, data } = row
    return { seq, at, data }
  }

  /** The steps of a task of which nobody knows how they ended. */
  doubts(task: number): readonly StartedStep[] {
    const whole = ({ data, blob }: PlainEvent) =>
      blob === null ? data : this.withBlob(data, blob, this.load.blob(blob) ?? '')
    return [...startsIn(this.load.stepEvents(task), whole).values()].filter(({ inDoubt }) => inDoubt)
  }

  withBlob(data: string, sha256: string, text: string): string {
    return data.replace(blobReference(sha256, text.length), () => text)
  }
}
