import {
  assertOptions,
  invalid,
  isName,
  isRecord,
  keyHash,
  parseJson,
  type PipelineRecord,
  publicationKey,
  receiptKey,
  type Rules,
  RuntimeError,
  show,
  type StageRefusal,
  type StepRecord,
  type TakenEvents,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { Schemas } from '../../api/exchange.ts'
import type { PipelineEvent, PublishOptions, ReceiveOptions } from '../../api/pipelines.ts'
import { isSchema } from '../../terms/schema.ts'
import { assertPublished, readEvent, unauthorized } from '../../terms/pipeline-events.ts'
import { refused } from '../pass/answer.ts'
import type { Callee, Pass } from '../pass/pass.ts'
import type { Scope } from '../pass/scope.ts'
import { inputHashOf } from '../step/idempotency.ts'
import { StageCall, type StageCallFacts, type Tried } from './stage-call.ts'
import { Stir, topicOf } from './stir.ts'

/** The caller of a publication or a receipt: the pass, the scope, and the method of the context that was called. */
export interface StageCaller {
  readonly pass: Pass
  readonly scope: Scope
  readonly callee: Callee
}

/** The stage that one pass runs: what it has published and received so far, by key. */
export class Stage {
  readonly #pass: Pass
  /** How often each key was used without its number. */
  readonly #uses = new Map<string, number>()
  #record: Promise<PipelineRecord> | undefined
  #pipeline: string | undefined
  /** Publications go one after the other, so that their order in the log is that of their calls. */
  #published: Promise<unknown> = Promise.resolve()

  constructor(pass: Pass) {
    this.#pass = pass
  }

  /** `ctx.publish` and `ctx.publishAll`. Source: `docs/semantics.md 13.2`. */
  publish(
    { pass, scope, callee }: StageCaller,
    type: unknown,
    items: unknown,
    options: unknown,
  ): Promise<void> {
    try {
      if (scope.closedBy !== undefined) throw scope.closedBy
      if (!isName(type))
        throw invalid(`publish: a type is a string of 1 to 255 characters, not ${show(type)}`)
      if (!Array.isArray(items)) throw invalid(`publishAll '${type}': a list of events, not ${show(items)}`)
      assertOptions(`publish '${type}'`, options, publishRules)
      const { digest } = pass.attempt.parts.environment
      const keys = keysOf(type, items as readonly unknown[], options ?? {})
      const parts = inParts(items as readonly unknown[])
      const calls = parts.map((part, at) => {
        const own = keys?.slice(at * MAX_PUBLISHED, (at + 1) * MAX_PUBLISHED)
        const keyHashes = own?.map((it) => keyHash(digest, it))
        const named = own === undefined ? part : { keys: own, part }
        const hash = inputHashOf(digest, type, named).slice(0, HASH_LENGTH)
        const key = publicationKey(type, hash, this.#nth(publicationKey(type, hash, 0)))
        const { position, memo } = pass.use({ key, as: 'step', scope, callee })
        if (memo !== undefined) return this.#replayed(scope, memo)
        const { maxPayloadBytes: maxBytes } = pass.attempt.parts.config
        const events = part.map((data) =>
          pass.attempt.parts.values.encode(data, { what: `an event '${type}'`, maxBytes }),
        )
        return () => this.#send(scope, { key, position, type, part, events, keyHashes })
      })
      return this.#inOrder(scope, calls)
    } catch (error) {
      return refused(scope, 'publication', type, error)
    }
  }

  /** `ctx.receive`. Source: `docs/semantics.md 13.2`. */
  receive(
    { pass, scope, callee }: StageCaller,
    types: unknown,
    options: unknown,
  ): Promise<readonly PipelineEvent[]> {
    try {
      if (scope.closedBy !== undefined) throw scope.closedBy
      const names = typesOf(types)
      assertOptions(`receive ${names.join(', ')}`, options, receiveRules)
      const { max = 100 } = (options ?? {}) as ReceiveOptions
      const key = receiptKey(names, this.#nth(receiptKey(names, 0)))
      const { position, memo } = pass.use({ key, as: 'step', scope, callee })
      if (memo !== undefined) {
        const { claim, parts } = pass.attempt
        parts.announce('step.replayed', claim.taskId, memo.seq, { key, position })
        scope.answered(memo.seq)
        const taken = parseJson(memo.result) as TakenEvents
        return pass.gate.during(() => this.#read(taken, types))
      }
      const call = this.#call<readonly PipelineEvent[]>(scope, {
        name: 'receipt',
        key,
        position,
        wait: { for: 'events', types: names },
        attempt: async () => {
          const { taskId } = await this.#standing()
          const { leaseId } = pass.attempt.claim
          const outcome = await pass.attempt.lease.write({
            kind: 'receive',
            leaseId,
            key,
            position,
            types: names,
            max,
          })
          if (outcome === undefined) return { as: 'lost' }
          if (outcome.as === 'none') return { as: 'wait' }
          if (outcome.as !== 'received') throw refusalOf('receive', pass, outcome)
          this.#stir(taskId, 'room', names)
          return { as: 'done', value: await this.#read(outcome, types) }
        },
      })
      return call.begin()
    } catch (error) {
      return refused(scope, 'receipt', 'receive', error)
    }
  }

  #send(scope: Scope, { key, position, type, part, events, keyHashes }: Publication): Promise<void> {
    const { attempt } = this.#pass
    const call = this.#call<void>(scope, {
      name: 'publication',
      key,
      position,
      wait: { for: 'room', type },
      attempt: async (): Promise<Tried<void>> => {
        const { taskId, type: pipeline } = await this.#standing()
        for (const data of part) assertPublished(pipeline, type, data)
        const { leaseId } = attempt.claim
        const outcome = await attempt.lease.write({
          kind: 'publish',
          leaseId,
          key,
          position,
          type,
          events,
          ...(keyHashes === undefined ? {} : { keyHashes }),
        })
        if (outcome === undefined) return { as: 'lost' }
        if (outcome.as === 'no_room') return { as: 'wait' }
        if (outcome.as !== 'published') throw refusalOf('publish', this.#pass, outcome)
        this.#stir(taskId, 'events', [type])
        return { as: 'done', value: undefined }
      },
    })
    return call.begin()
  }

  #replayed(scope: Scope, { key, seq, position }: StepRecord): () => Promise<void> {
    const { claim, parts } = this.#pass.attempt
    parts.announce('step.replayed', claim.taskId, seq, { key, position })
    scope.answered(seq)
    return () => Promise.resolve()
  }

  #inOrder(scope: Scope, calls: readonly (() => Promise<void>)[]): Promise<void> {
    const before = this.#published
    const run = async () => {
      await before
      for (const call of calls) {
        if (scope.closedBy !== undefined) throw scope.closedBy
        await call()
      }
    }
    const done = run()
    this.#published = done.catch(() => undefined)
    return done
  }

  #call<T>(scope: Scope, facts: Omit<StageCallFacts<T>, 'pipeline'>): StageCall<T> {
    return new StageCall<T>(this.#pass, scope, { ...facts, pipeline: () => this.#pipeline })
  }

  #stir(pipeline: string, of: 'events' | 'room', types: readonly string[]): void {
    Stir.of(this.#pass.attempt.parts.store).stir(types.map((type) => topicOf(pipeline, of, type)))
  }

  /** The pipeline of the stage. Throws `unknown_stage`. */
  #standing(): Promise<PipelineRecord> {
    return (this.#record ??= this.#readRecord())
  }

  async #readRecord(): Promise<PipelineRecord> {
    const { claim, parts } = this.#pass.attempt
    const { taskId } = claim
    const record = await parts.store.read({ kind: 'pipeline', taskId })
    if (record?.stage === undefined) throw unknownStage(this.#pass)
    this.#pipeline = record.taskId
    return record
  }

  async #read({ ranges }: TakenEvents, types: unknown): Promise<readonly PipelineEvent[]> {
    const given = isRecord(types) ? (types as Schemas) : undefined
    const events: PipelineEvent[] = []
    if (ranges.length === 0) return events
    const { taskId, type: pipeline } = await this.#standing()
    const { store, values } = this.#pass.attempt.parts
    const { taskId: own } = this.#pass.attempt.claim
    for (let left = [...ranges]; left.length > 0;) {
      const [first = 0] = left[0] ?? []
      const [last = 0, count = 0] = left.at(-1) ?? []
      const limit = Math.min(STRETCH, last + count - first)
      const chunks = await store.read({ kind: 'pipelineEvents', taskId: own, after: first - 1, limit })
      const read = chunks?.at(-1)?.seq
      if (chunks === undefined || read === undefined)
        throw new RuntimeError(
          'store_corrupt',
          `pipeline ${taskId} has no event ${first}, which was received`,
        )
      // Both are in order, so that each range is looked at once: those of a partition are many and short.
      let at = 0
      for (const chunk of chunks) {
        let [from, many] = left[at] ?? [Number.POSITIVE_INFINITY, 0]
        if (chunk.seq >= from + many) [from, many] = left[(at += 1)] ?? [Number.POSITIVE_INFINITY, 0]
        if (chunk.seq >= from && chunk.seq < from + many)
          events.push(readEvent(values, pipeline, chunk, given))
      }
      left = left.flatMap(([from, many]) => {
        const gone = Math.max(0, read + 1 - from)
        return gone >= many ? [] : [[from + gone, many - gone] as const]
      })
    }
    return events
  }

  #nth(name: string): number {
    const nth = this.#uses.get(name) ?? 0
    this.#uses.set(name, nth + 1)
    return nth
  }
}

interface Publication {
  readonly key: string
  readonly position: number
  readonly type: string
  readonly part: readonly unknown[]
  readonly events: readonly string[]
  readonly keyHashes: readonly number[] | undefined
}

/** The keys of the events; undefined without one. */
function keysOf(
  type: string,
  items: readonly unknown[],
  { key }: PublishOptions,
): readonly string[] | undefined {
  if (key === undefined) return undefined
  return items.map((data) => {
    const made = typeof key === 'function' ? key(data) : key
    if (isName(made)) return made
    throw invalid(`publish '${type}': a key is a string of 1 to 255 characters, not ${show(made)}`)
  })
}

function refusalOf(
  as: 'publish' | 'receive',
  pass: Pass,
  refusal: Exclude<StageRefusal, { as: 'none' }>,
): RuntimeError {
  return refusal.as === 'unknown_stage' ? unknownStage(pass) : unauthorized(as, refusal)
}

function unknownStage({ attempt }: Pass): RuntimeError {
  const { taskId } = attempt.claim
  return new RuntimeError(
    'unknown_stage',
    `task ${taskId} is no stage of a pipeline: submit the pipeline, which starts its stages`,
    { details: { taskId } },
  )
}

function typesOf(types: unknown): readonly string[] {
  if (isRecord(types) && !Object.values(types).every(isSchema))
    throw invalid(`receive: an object of schemas by type, such as { page: z.string() }, not ${show(types)}`)
  const names = isRecord(types) ? Object.keys(types) : types
  if (!Array.isArray(names) || names.length === 0 || !names.every((name) => isName(name)))
    throw invalid(`receive: a list of one or more types of events, such as ['page'], not ${show(types)}`)
  return [...new Set(names as readonly string[])].toSorted()
}

function inParts(items: readonly unknown[]): readonly (readonly unknown[])[] {
  const parts: (readonly unknown[])[] = []
  for (let from = 0; from < items.length; from += MAX_PUBLISHED)
    parts.push(items.slice(from, from + MAX_PUBLISHED))
  return parts
}

const publishRules: Rules<PublishOptions> = {
  key: [
    'a string of 1 to 255 characters, or a function that makes one of each event',
    (key) => typeof key === 'function' || isName(key),
  ],
}
const receiveRules: Rules<ReceiveOptions> = { max: wholeNumber(1, 1_000) }

/** So many events are one write. */
const MAX_PUBLISHED = 500
/** Events read from the store at a time. */
const STRETCH = 500
/** Characters of the hash of what is published: enough that two publications of one stage do not share it. */
const HASH_LENGTH = 32
