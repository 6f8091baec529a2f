import {
  type ExecutionStore,
  isFinal,
  type OutputChunk,
  type StoredEvent,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import type { Feed } from './feed.ts'
import { assertOutsideHandlers } from '../lease/inside-handler.ts'
import { noTask } from './result.ts'
import type { FollowOptions, OutputItem, OutputOptions } from '../api/client.ts'
import type { RuntimeEvent } from '../api/events.ts'
import { toRuntimeEvent } from './stored-event.ts'
import { readEmitted } from '../terms/exchange.ts'
import type { KnownTypes } from './known-types.ts'
import { shown } from './task-status.ts'
import { followTail, type Numbered, type ReadStretch, Tail } from './tail.ts'

/** The dependencies of following a task. */
export interface FollowDeps {
  readonly store: ExecutionStore
  readonly feed: Feed
  readonly values: ValueCodec
}

/** A task's events, from history into live. Source: `docs/semantics.md 9.1`. */
export async function* followEvents(
  deps: FollowDeps,
  taskId: string,
  options: FollowOptions,
): AsyncGenerator<RuntimeEvent, void, undefined> {
  const events = new Tail<StoredEvent>()
  const read: ReadStretch<StoredEvent> = async (after) =>
    (await deps.store.read({ kind: 'events', taskId, after, limit: STRETCH })) ?? []
  for await (const event of follow(deps, taskId, options, { events }, events, read))
    yield toRuntimeEvent(event, event.type, deps.values)
}

/**
 * A task's output. The attempts are derived from its chunks alone, so every reader sees the same, live or
 * later. Source: `docs/semantics.md 9.3`.
 */
export async function* followOutput(
  deps: FollowDeps & { readonly types: KnownTypes },
  taskId: string,
  options: OutputOptions,
): AsyncGenerator<OutputItem<never>, void, undefined> {
  const chunks = new Tail<OutputChunk>()
  const read: ReadStretch<OutputChunk> = async (after) =>
    (await deps.store.read({ kind: 'output', taskId, after, limit: STRETCH })) ?? []
  const dataOf = await chunkReader(deps, taskId, options.check)
  let attempt = await attemptAt(read, options.after ?? 0)
  for await (const chunk of follow(deps, taskId, options, { chunks }, chunks, read)) {
    if (chunk.attempt > attempt)
      yield { type: 'attempt.restarted', attempt: chunk.attempt, seq: chunk.seq - 1 }
    attempt = chunk.attempt
    yield { type: 'chunk', seq: chunk.seq, attempt, at: chunk.at, data: dataOf(chunk) }
  }
}

/** A task's output as it is stored. */
export function followChunks(
  deps: FollowDeps,
  taskId: string,
  options: FollowOptions,
): AsyncGenerator<OutputChunk, void, undefined> {
  const chunks = new Tail<OutputChunk>()
  const read: ReadStretch<OutputChunk> = async (after) =>
    (await deps.store.read({ kind: 'output', taskId, after, limit: STRETCH })) ?? []
  return follow(deps, taskId, options, { chunks }, chunks, read)
}

/** What gives a chunk's value: with the schema that the task's type declares, if this process knows one. */
export async function chunkReader(
  { store, values, types }: Pick<FollowDeps, 'store' | 'values'> & { readonly types: KnownTypes },
  taskId: string,
  isChecked = true,
): Promise<(chunk: OutputChunk) => never> {
  const type =
    isChecked && types.anyWith('emits') ? (await store.read({ kind: 'task', taskId }))?.type : undefined
  const terms = type === undefined ? undefined : types.exchangeOf(type)
  // What readers get has the type that their task's type declares.
  return ({ data, seq }) => {
    const value = shown(values, data)
    return (terms === undefined ? value : readEmitted(terms, value, seq)) as never
  }
}

/** The attempt of the last chunk up to `seq`. */
async function attemptAt(read: ReadStretch<OutputChunk>, seq: number): Promise<number> {
  if (seq <= 0) return 1
  const [last] = await read(seq - 1)
  return last?.seq === seq ? last.attempt : 1
}

async function* follow<T extends Numbered>(
  { store, feed }: FollowDeps,
  taskId: string,
  { after = 0, live = true, signal }: FollowOptions,
  reader: Parameters<Feed['read']>[1],
  tail: Tail<T>,
  read: ReadStretch<T>,
): AsyncGenerator<T, void, undefined> {
  signal?.throwIfAborted()
  const abort = () => tail.fail(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  using _ = feed.read(taskId, reader)
  try {
    const task = await store.read({ kind: 'task', taskId })
    if (task === undefined) throw noTask(taskId)
    if (isFinal(task.state) || !live) tail.end()
    else assertOutsideHandlers(store, taskId, reader.events === undefined ? 'output' : 'events')
    yield* followTail(tail, after, STRETCH, read)
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** Items read from the store at a time. */
const STRETCH = 200
