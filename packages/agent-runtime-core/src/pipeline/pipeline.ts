import type { Digest } from '../config/environment.ts'
import { RESERVED } from '../wait/wait.ts'

/** A stage as its pipeline knows it: its name, and the types of events that it may publish and receives. */
export interface StageTerms {
  readonly stage: string
  readonly publishes: readonly string[]
  readonly subscribes: readonly string[]
  /** So many tasks run the stage, each for the events of its own keys. Absent: one task for all events. */
  readonly partitions?: number
}

/** The terms of a pipeline, fixed when it begins. Source: agent-scheduler-paper Def 6; `docs/semantics.md 13.1, 13.2`. */
export interface PipelineTerms {
  /** The stages in order. */
  readonly stages: readonly StageTerms[]
  /** So many events of a type that a stage has not received hold back those who publish it. */
  readonly maxUnread: number
}

/** Consecutive events of the log, by sequence: the first, and how many there are. */
export type LogRange = readonly [first: number, count: number]

/** The events that a stage has received at once: where they stand in the log. With none it is the end of the stream. */
export interface TakenEvents {
  readonly ranges: readonly LogRange[]
}

/** A task of a stage. */
export interface StagePart {
  readonly stage: string
  /** From 1; absent in a stage that is one task. */
  readonly partition?: number
}

/** The tasks of a stage, in order. */
export function partsOf({ stage, partitions }: StageTerms): readonly StagePart[] {
  return partitions === undefined
    ? [{ stage }]
    : Array.from({ length: partitions }, (_, at) => ({ stage, partition: at + 1 }))
}

/** The key under which a pipeline has a task of a stage. */
export function stageKey({ stage, partition }: StagePart): string {
  return partition === undefined ? `${STAGE}${stage}` : `${STAGE}${stage}/${partition}`
}

/** The stage, and the partition, of such a key; undefined for another child. */
export function stageIn(key: string): StagePart | undefined {
  if (!key.startsWith(STAGE)) return undefined
  const [stage = '', partition] = key.slice(STAGE.length).split('/')
  return partition === undefined ? { stage } : { stage, partition: Number(partition) }
}

/** Words for a task of a stage. */
export function stagePartText({ stage, partition }: StagePart): string {
  return partition === undefined ? `stage '${stage}'` : `partition ${partition} of stage '${stage}'`
}

/** The hash of the key of an event, 0 to 1023. It tells little of the key, which may be a secret. Source: `docs/semantics.md 13.2`. */
export function keyHash(digest: Pick<Digest, 'sha256Hex'>, key: string): number {
  return Number.parseInt(digest.sha256Hex(key).slice(0, 8), 16) % KEY_HASHES
}

/**
 * The partition of a stage that an event is for: by the hash of its key, or in turn if it has none. `nth`: how many events of its type came before.
 * Source: `docs/semantics.md 13.2`.
 */
export function partitionFor(hash: number | null, nth: number, partitions: number): number {
  return ((hash ?? nth) % partitions) + 1
}

/** There are so many hashes of keys. */
export const KEY_HASHES = 1_024
/** A stage has so many partitions at the most. */
export const MAX_PARTITIONS = 64

/** The thing that a stage waits for: events of one of these types, or room for one of this type. */
export type StageWait =
  | { readonly for: 'events'; readonly types: readonly string[] }
  | { readonly for: 'room'; readonly type: string }

/** The key of such a wait; `name` tells it from others of the task. */
export function stageWaitKey(name: string, wait: StageWait): string {
  const types = wait.for === 'events' ? wait.types : [wait.type]
  return `${STAGE_WAIT}${wait.for}/${name}/${types.join(',')}`
}

/** The wait of such a key; undefined for the key of another wait. */
export function stageWaitIn(key: string): StageWait | undefined {
  if (!key.startsWith(STAGE_WAIT)) return undefined
  const [as, , types = ''] = key.slice(STAGE_WAIT.length).split('/')
  if (as === 'events') return { for: 'events', types: types.split(',') }
  return as === 'room' ? { for: 'room', type: types } : undefined
}

/** The key of the step that a publication of a stage is recorded as; `type`: several are joined by commas: the same events are found again in any order of calls. */
export function publicationKey(type: string, hash: string, nth: number): string {
  return `${PUBLICATION}${type}/${hash}/${nth}`
}

/** The key of the step that the `nth` receipt of these types is recorded as. */
export function receiptKey(types: readonly string[], nth: number): string {
  return `${RECEIPT}${types.join(',')}/${nth}`
}

/** The key of the step that a pipeline records its beginning as. */
export const PIPELINE_KEY = `${RESERVED}pipeline`
/** The name under which nothing arrives: the waits of a stage end with what happens to its pipeline. */
export const STAGE_WAIT_NAME = `${RESERVED}stage`

const STAGE = `${RESERVED}stage/`
const STAGE_WAIT = `${RESERVED}stage-wait/`
const PUBLICATION = `${RESERVED}publish/`
const RECEIPT = `${RESERVED}receive/`

/** Whether a step is the memo of a call of this room. */
export function isPipelineMemo(key: string): boolean {
  return key === PIPELINE_KEY || key.startsWith(PUBLICATION) || key.startsWith(RECEIPT)
}

/** Words for what a key of this room stands for; undefined for another key. */
export function pipelineKeyText(key: string): string | undefined {
  if (key === PIPELINE_KEY) return 'the beginning of the pipeline'
  const stage = stageIn(key)
  if (stage !== undefined) return stagePartText(stage)
  const wait = stageWaitIn(key)
  if (wait?.for === 'room') return `room for an event of type '${wait.type}'`
  if (wait?.for === 'events') return `events of type ${namesText(wait.types, ' or ')}`
  const [type, nth] = key.startsWith(RECEIPT) ? key.slice(RECEIPT.length).split('/') : []
  if (nth !== undefined) return `receipt ${nth} of '${type}'`
  if (!key.startsWith(PUBLICATION)) return undefined
  const [types = ''] = key.slice(PUBLICATION.length).split('/')
  return `a publication of ${namesText(types.split(','), ', ')}`
}

/** The call of a stage that is recorded under such a key, as its code spells it; undefined for another key. */
export function stageCallText(key: string): string | undefined {
  const call = key.startsWith(PUBLICATION) ? 'publish' : key.startsWith(RECEIPT) ? 'receive' : undefined
  if (call === undefined) return undefined
  const [types = ''] = key.slice(key.indexOf(call) + call.length + 1).split('/')
  return `ctx.${call}(${namesText(types.split(','), ', ')})`
}

/** Names in quotes, one after the other. */
export function namesText(names: readonly string[], between: string): string {
  return names.map((name) => `'${name}'`).join(between)
}
