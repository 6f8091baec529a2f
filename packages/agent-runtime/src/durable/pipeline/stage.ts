import {
  assertOptions,
  instead,
  invalid,
  isName,
  isRecord,
  keyHash,
  type LogRange,
  parseJson,
  type PipelineRecord,
  publicationKey,
  receiptKey,
  type Rules,
  RuntimeError,
  show,
  type StageRefusal,
  type StageTaskRecord,
  type StageWait,
  type StepRecord,
  type TakenEvents,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { Schemas } from '../../api/exchange.ts'
import type { PipelineEvent, PublishOptions, ReceiveOptions } from '../../api/pipelines.ts'
import type { Schema } from '../../api/schema.ts'
import { isSchema } from '../../terms/schema.ts'
import { assertPublished, readEvent, unauthorized } from '../../terms/pipeline-events.ts'
import { refused } from '../pass/answer.ts'
import type { StagePass } from './stage-pass.ts'
import type { Callee } from '../pass/key-use.ts'
import type { Scope } from '../pass/scope.ts'
import { inputHashOf } from '../step/idempotency.ts'
import { awaitedBy, isOver } from './stage-wait.ts'
import { countOf, type ReadEvent, Received } from './received.ts'
import { StageCall, type StageCallFacts, type Tried } from './stage-call.ts'
import { Stir, topicOf } from './stir.ts'

/** The caller of a publication or a receipt: the pass, the scope, and the method of the context that was called. */
export interface StageCaller {
  readonly pass: StagePass
  readonly scope: Scope
  readonly callee: Callee
}

/** The stage that one pass runs: what it has published and received so far, by key. */
export class Stage {
  readonly #pass: StagePass
  /** How often each key was used without its number. */
  readonly #uses = new Map<string, number>()
  #record: Promise<PipelineRecord> | undefined
  /** Publications go one after the other, so that their order in the log is that of their calls. */
  #published: Promise<unknown> = Promise.resolve()
  /** When its first call came, by the monotonic clock. */
  #beganAt: number | undefined
  /** How long this pass took through what the history had answered. */
  #replayedMs = 0
  /** How long it has read and hashed events since then, which a later pass does again. */
  #workedMs = 0

  constructor(pass: StagePass) {
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
      this.#beganAt ??= this.#monotonic()
      if (!isName(type))
        throw invalid(`publish: a type is a string of 1 to 255 characters, not ${show(type)}`)
      if (!Array.isArray(items)) throw invalid(`publishAll '${type}': a list of events, not ${show(items)}`)
      assertOptions(`publish '${type}'`, options, publishRules)
      const keys = keysOf(type, items as readonly unknown[], options ?? {})
      const all = (items as readonly unknown[]).map((data, at) => ({ type, data, key: keys?.[at] }))
      const named = (part: readonly ToPublish[]) => {
        const own = part.map(({ data }) => data)
        return keys === undefined ? own : { keys: part.map(({ key }) => key), part: own }
      }
      return this.#publishParts({ pass, scope, callee }, type, all, named)
    } catch (error) {
      return refused(scope, 'publication', type, error)
    }
  }

  /** `ctx.publishAll` with events of several types. Source: `docs/semantics.md 13.2`. */
  publishMixed(caller: StageCaller, types: Schemas, items: unknown, options: unknown): Promise<void> {
    const { scope } = caller
    const names = Object.keys(types).toSorted().join(',')
    try {
      if (scope.closedBy !== undefined) throw scope.closedBy
      this.#beganAt ??= this.#monotonic()
      assertSchemas('publishAll', types)
      if (options !== undefined)
        throw invalid('publishAll: events of several types have no options; give each event its own key')
      if (!Array.isArray(items)) throw invalid(`publishAll: a list of events, not ${show(items)}`)
      const all = (items as readonly unknown[]).map((event) => toPublish(event, types))
      // Without the schemas, which a later version may change.
      const named = (part: readonly ToPublish[]) => part.map(({ type, data, key }) => ({ type, data, key }))
      return this.#publishParts(caller, names, all, named)
    } catch (error) {
      return refused(scope, 'publication', names, error)
    }
  }

  /** `of`: the types, for the keys of the steps. `named`: what the key of a part is made of. */
  #publishParts(
    { pass, scope, callee }: StageCaller,
    of: string,
    all: readonly ToPublish[],
    named: (part: readonly ToPublish[]) => unknown,
  ): Promise<void> {
    const { digest } = pass.attempt.parts.environment
    const calls = inParts(all).map((part) => {
      const hash = this.#worked(() => inputHashOf(digest, of, named(part)).slice(0, HASH_LENGTH))
      const key = publicationKey(of, hash, this.#nth(publicationKey(of, hash, 0)))
      const { position, memo } = pass.use({ key, as: 'step', scope, callee })
      if (memo !== undefined) return this.#publishedBefore(scope, memo)
      const { maxPayloadBytes: maxBytes } = pass.attempt.parts.config
      const events = part.map(({ type, data }) =>
        pass.attempt.parts.values.encode(data, { what: `an event '${type}'`, maxBytes }),
      )
      const keyHashes = part.some((it) => it.key !== undefined)
        ? part.map((it) => (it.key === undefined ? null : keyHash(digest, it.key)))
        : undefined
      return () => this.#send(scope, { key, position, part, events, keyHashes })
    })
    return this.#inOrder(scope, calls)
  }

  /** `ctx.receive`. Source: `docs/semantics.md 13.2`. */
  receive(
    { pass, scope, callee }: StageCaller,
    types: unknown,
    options: unknown,
  ): Promise<readonly PipelineEvent[]> {
    try {
      if (scope.closedBy !== undefined) throw scope.closedBy
      this.#beganAt ??= this.#monotonic()
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
        return pass.gate.during(async () => {
          const events = await this.#read(key, taken, types)
          this.#replayed()
          return events
        })
      }
      const call = this.#call<readonly PipelineEvent[]>(scope, {
        name: 'receipt',
        key,
        position,
        wait: { for: 'events', types: names },
        types: names,
        attempt: async ({ taskId }) => {
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
          this.#stirRoom(taskId, names, outcome.full)
          return { as: 'done', value: await this.#read(key, outcome, types) }
        },
      })
      return call.begin()
    } catch (error) {
      return refused(scope, 'receipt', 'receive', error)
    }
  }

  #send(scope: Scope, { key, position, part, events, keyHashes }: Publication): Promise<void> {
    const { attempt } = this.#pass
    const types = [...new Set(part.map(({ type }) => type))]
    const [first = ''] = types
    let isChecked = false
    const call = this.#call<void>(scope, {
      name: 'publication',
      key,
      position,
      wait: { for: 'room', type: first },
      types,
      attempt: async ({ taskId, type: pipeline }): Promise<Tried<void>> => {
        // Once, and not again each time that it is told of room.
        if (!isChecked)
          for (const { type, data, schema } of part) assertPublished(pipeline, type, data, schema)
        isChecked = true
        const { leaseId } = attempt.claim
        const outcome = await attempt.lease.write({
          kind: 'publish',
          leaseId,
          key,
          position,
          type: types.length === 1 ? first : part.map(({ type }) => type),
          events,
          ...(keyHashes === undefined ? {} : { keyHashes }),
        })
        if (outcome === undefined) return { as: 'lost' }
        if (outcome.as === 'no_room') return { as: 'wait', wait: { for: 'room', type: outcome.type } }
        if (outcome.as !== 'published') throw refusalOf('publish', this.#pass, outcome)
        this.#stirEvents(taskId, types)
        this.#stirRoom(taskId, types, outcome.full)
        return { as: 'done', value: undefined }
      },
    })
    return call.begin()
  }

  #publishedBefore(scope: Scope, { key, seq, position }: StepRecord): () => Promise<void> {
    const { claim, parts } = this.#pass.attempt
    parts.announce('step.replayed', claim.taskId, seq, { key, position })
    scope.answered(seq)
    this.#replayed()
    return () => Promise.resolve()
  }

  /** The history has answered a call. */
  #replayed(): void {
    this.#replayedMs = this.#monotonic() - (this.#beganAt ?? 0)
    this.#workedMs = 0
  }

  #worked<T>(work: () => T): T {
    const began = this.#monotonic()
    const done = work()
    this.#workedMs += this.#monotonic() - began
    return done
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

  #call<T>(scope: Scope, facts: Omit<StageCallFacts<T>, 'pipeline' | 'wayBackMs' | 'hasCome'>): StageCall<T> {
    const wayBackMs = this.#replayedMs + this.#workedMs
    const hasCome = (wait: StageWait) => this.#hasCome(wait)
    return new StageCall<T>(this.#pass, scope, {
      ...facts,
      pipeline: () => this.#standing(),
      wayBackMs,
      hasCome,
    })
  }

  /** Whether a wait is over. Of those that run in this process it would have been told. */
  async #hasCome(wait: StageWait): Promise<boolean> {
    const stir = Stir.of(this.#pass.attempt.parts.store)
    const isToldOf = ({ ended, taskId = '' }: StageTaskRecord) => ended || stir.runsHere(taskId)
    if (awaitedBy(await this.#standing(), wait).every(isToldOf)) return false
    const record = await this.#readRecord()
    this.#record = Promise.resolve(record)
    return isOver(record, wait)
  }

  #monotonic(): number {
    return this.#pass.attempt.parts.environment.clock.monotonic()
  }

  #stirEvents(pipeline: string, types: readonly string[]): void {
    Stir.of(this.#pass.attempt.parts.store).stir(types.map((type) => topicOf(pipeline, 'events', type)))
  }

  /** `full`: the types of which there is no room left. */
  #stirRoom(pipeline: string, types: readonly string[], full: readonly string[] = []): void {
    const stir = Stir.of(this.#pass.attempt.parts.store)
    for (const type of types) {
      const topics = [topicOf(pipeline, 'room', type)]
      if (full.includes(type)) stir.move(topics)
      else stir.stirFirst(topics)
    }
  }

  /** The pipeline of the stage. Throws `unknown_stage`. */
  #standing(): Promise<PipelineRecord> {
    return (this.#record ??= this.#readRecord())
  }

  async #readRecord(): Promise<PipelineRecord> {
    const { attempt } = this.#pass
    const { taskId } = attempt.claim
    const { store } = attempt.parts
    const record = await store.read({ kind: 'pipeline', taskId })
    if (record?.stage === undefined) throw unknownStage(this.#pass)
    // If the handler has ended meanwhile, nothing would take this back.
    if (attempt.closedBy === undefined) Stir.of(store).begun(taskId)
    return record
  }

  /** The events of a receipt. Those that an earlier pass in this process has read are not read again. */
  async #read(receipt: string, { ranges }: TakenEvents, types: unknown): Promise<readonly PipelineEvent[]> {
    if (ranges.length === 0) return []
    const given = isRecord(types) ? (types as Schemas) : undefined
    const { taskId, type: pipeline } = await this.#standing()
    const { claim, parts } = this.#pass.attempt
    const received = Received.of(parts.store)
    const kept = received.find(claim.taskId, receipt, ranges)
    const chunks = kept ?? (await this.#fetch(ranges, taskId))
    if (kept === undefined) received.keep(claim.taskId, receipt, chunks)
    return this.#worked(() => chunks.map((chunk) => readEvent(parts.values, pipeline, chunk, given)))
  }

  async #fetch(ranges: readonly LogRange[], pipeline: string): Promise<readonly ReadEvent[]> {
    const { claim, parts } = this.#pass.attempt
    const chunks: ReadEvent[] = []
    for (const part of inStretches(ranges)) {
      const limit = countOf(part)
      const [[first] = [0]] = part
      const read = await parts.store.read({
        kind: 'pipelineEvents',
        taskId: claim.taskId,
        after: first - 1,
        limit,
        ...(part.length === 1 ? {} : { ranges: part }),
      })
      if (read?.length !== limit)
        throw new RuntimeError(
          'store_corrupt',
          `pipeline ${pipeline} does not have all events from ${first} on that were received`,
        )
      for (const chunk of read) chunks.push(chunk)
    }
    return chunks
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
  readonly part: readonly ToPublish[]
  readonly events: readonly string[]
  readonly keyHashes: readonly (number | null)[] | undefined
}

/** An event that a handler publishes. */
interface ToPublish {
  readonly type: string
  readonly data: unknown
  readonly key: string | undefined
  /** Given with it, beside that of the definition. */
  readonly schema?: Schema | undefined
}

/** An event of a list of several types. */
function toPublish(event: unknown, types: Schemas): ToPublish {
  const example = "such as { type: 'page', data: { url: '/' } }"
  if (!isRecord(event) || !Object.hasOwn(event, 'data'))
    throw invalid(`publishAll: an event is an object with type and data, ${example}, not ${show(event)}`)
  const { type, data, key, ...others } = event
  if (typeof type !== 'string' || !Object.hasOwn(types, type))
    throw invalid(
      `publishAll: an event of type ${show(type)} has no schema${instead(String(type), Object.keys(types))}`,
    )
  const [other] = Object.keys(others)
  if (other !== undefined)
    throw invalid(`publishAll '${type}': an event has type, data and key, not ${show(other)}`)
  if (key !== undefined && !isName(key)) throw invalid(wrongKey(type, key))
  return { type, data, key, schema: types[type] }
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
    throw invalid(wrongKey(type, made))
  })
}

function wrongKey(type: string, key: unknown): string {
  return `publish '${type}': a key is a string of 1 to 255 characters, not ${show(key)}`
}

function refusalOf(
  as: 'publish' | 'receive',
  pass: StagePass,
  refusal: Exclude<StageRefusal, { as: 'none' }>,
): RuntimeError {
  return refusal.as === 'unknown_stage' ? unknownStage(pass) : unauthorized(as, refusal)
}

function unknownStage({ attempt }: StagePass): RuntimeError {
  const { taskId } = attempt.claim
  return new RuntimeError(
    'unknown_stage',
    `task ${taskId} is no stage of a pipeline: submit the pipeline, which starts its stages`,
    { details: { taskId } },
  )
}

function typesOf(types: unknown): readonly string[] {
  if (isRecord(types)) assertSchemas('receive', types)
  const names = isRecord(types) ? Object.keys(types) : types
  if (!Array.isArray(names) || names.length === 0 || !names.every((name) => isName(name)))
    throw invalid(`receive: a list of one or more types of events, such as ['page'], not ${show(types)}`)
  return [...new Set(names as readonly string[])].toSorted()
}

function assertSchemas(call: string, types: Readonly<Record<string, unknown>>): void {
  if (!Object.values(types).every(isSchema))
    throw invalid(`${call}: an object of schemas by type, such as { page: z.string() }, not ${show(types)}`)
}

function inParts<T>(items: readonly T[]): readonly (readonly T[])[] {
  const parts: (readonly T[])[] = []
  for (let from = 0; from < items.length; from += MAX_PUBLISHED)
    parts.push(items.slice(from, from + MAX_PUBLISHED))
  return parts
}

/** Stretches of the log with `STRETCH` events each at the most. */
function inStretches(ranges: readonly LogRange[]): readonly (readonly LogRange[])[] {
  const stretches: LogRange[][] = []
  let room = 0
  for (const [from, many] of ranges)
    for (let first = from; first < from + many;) {
      if (room === 0) {
        stretches.push([])
        room = STRETCH
      }
      const count = Math.min(room, from + many - first)
      stretches.at(-1)?.push([first, count])
      first += count
      room -= count
    }
  return stretches
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
