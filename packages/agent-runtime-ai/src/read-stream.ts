import type { OutputItem } from '@ku0/agent-runtime'
import { encode } from '@ku0/agent-runtime-core'
import { isStreamChunk, type LivePiece, type StreamChunk } from './stream-chunk.ts'

/** The items that a reader of a task's model calls shows, in order. */
export type StreamItem =
  /** A model call begins. */
  | { readonly type: 'start'; readonly step: string }
  | { readonly type: 'text'; readonly step: string; readonly text: string }
  | { readonly type: 'reasoning'; readonly step: string; readonly text: string }
  | { readonly type: 'tool-call'; readonly step: string; readonly toolName: string; readonly input: string }
  /** Take back what was shown of this step: another try has begun and says something else, which follows. */
  | { readonly type: 'restart'; readonly step: string }
  /** The model has said all of this call. */
  | { readonly type: 'end'; readonly step: string }
  /** A value that the task emitted itself; values that a later attempt emits again are left out. */
  | { readonly type: 'chunk'; readonly data: unknown }

/**
 * Reads `runtime.output(task)` so that each token is yielded once. When a step is tried again, after a crash or an error, what its new try repeats is not yielded again. If the
 * new try says something else, a `restart` comes first and then all that it has said.
 *
 *     for await (const item of readStream(runtime.output(receipt)))
 *       if (item.type === 'text') process.stdout.write(item.text)
 */
export async function* readStream(
  output: AsyncIterable<OutputItem>,
): AsyncGenerator<StreamItem, void, undefined> {
  const calls = new Map<string, ShownCall>()
  const own = new OwnChunks()
  for await (const item of output) {
    if (item.type === 'attempt.restarted') {
      own.begin()
      continue
    }
    if (!isStreamChunk(item.data)) {
      if (own.isNew(item.data)) yield { type: 'chunk', data: item.data }
      continue
    }
    const { step } = item.data
    const call = calls.get(step) ?? new ShownCall(step)
    calls.set(step, call)
    yield* call.take(item.data)
  }
}

/** The values that the task emits itself. The handler of a later attempt runs from its beginning, and emits again what the one before it has emitted. */
class OwnChunks {
  /** How often each value was shown. */
  readonly #shown = new Map<string, number>()
  /** How often the newest attempt has emitted it. */
  #emitted = new Map<string, number>()

  begin(): void {
    this.#emitted = new Map()
  }

  isNew(data: unknown): boolean {
    const text = encode(data, { what: 'an emitted value' })
    const emitted = (this.#emitted.get(text) ?? 0) + 1
    this.#emitted.set(text, emitted)
    if (emitted <= (this.#shown.get(text) ?? 0)) return false
    this.#shown.set(text, emitted)
    return true
  }
}

/** The part of a step that was shown, and how much of that its newest try has said again. */
class ShownCall {
  readonly #step: string
  #shown: Said[] = []
  /** The output of the newest try. */
  #said: Said[] = []
  #newest: { readonly pass: number; readonly try: number } | undefined
  #hasEnded = false

  constructor(step: string) {
    this.#step = step
  }

  take(chunk: StreamChunk): StreamItem[] {
    const order = this.#orderOf(chunk)
    if (order < 0) return []
    const isFirst = this.#newest === undefined
    if (order > 0) {
      this.#newest = { pass: chunk.pass, try: chunk.try }
      this.#said = []
    }
    const items: StreamItem[] = isFirst ? [{ type: 'start', step: this.#step }] : []
    return [...items, ...this.#hear(chunk)]
  }

  #orderOf(chunk: StreamChunk): number {
    if (this.#newest === undefined) return 1
    return chunk.pass - this.#newest.pass || chunk.try - this.#newest.try
  }

  #hear(piece: LivePiece): StreamItem[] {
    if (piece.stream === 'start') return []
    if (piece.stream === 'end') return this.#end()
    const before = lengthOf(this.#said)
    this.#said = append(this.#said, saidBy(piece))
    const isRepeated = before < lengthOf(this.#shown)
    if (!isRepeated) return this.#show([saidBy(piece)])
    if (isStartOf(this.#said, this.#shown)) return []
    return isStartOf(this.#shown, this.#said) ? this.#show(rest(this.#said, this.#shown)) : this.#restart()
  }

  #end(): StreamItem[] {
    const isShorter = lengthOf(this.#said) < lengthOf(this.#shown)
    const items = isShorter ? this.#restart() : []
    if (this.#hasEnded && items.length === 0) return []
    this.#hasEnded = true
    return [...items, { type: 'end', step: this.#step }]
  }

  #restart(): StreamItem[] {
    this.#shown = []
    this.#hasEnded = false
    return [{ type: 'restart', step: this.#step }, ...this.#show(this.#said)]
  }

  #show(said: readonly Said[]): StreamItem[] {
    for (const one of said) this.#shown = append(this.#shown, one)
    return said.map(({ type, ...what }) => ({ type, step: this.#step, ...what }) as StreamItem)
  }
}

/** A run of text of one kind, or a call of a tool. */
type Said =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'tool-call'; readonly toolName: string; readonly input: string }

function saidBy(piece: Exclude<LivePiece, { stream: 'start' | 'end' }>): Said {
  return piece.stream === 'tool-call'
    ? { type: piece.stream, toolName: piece.toolName, input: piece.input }
    : { type: piece.stream, text: piece.text }
}

/** Neighbours of one kind become one, so that it does not matter how the text was cut. */
function append(said: readonly Said[], next: Said): Said[] {
  const last = said.at(-1)
  if (last === undefined || last.type === 'tool-call' || next.type !== last.type) return [...said, next]
  return [...said.slice(0, -1), { ...last, text: last.text + (next as { text: string }).text }]
}

const lengthOf = (said: readonly Said[]): number => said.reduce((sum, one) => sum + sizeOf(one), 0)
const sizeOf = (one: Said): number => (one.type === 'tool-call' ? 1 : one.text.length)

/** Whether all of `part` stands at the beginning of `whole`. */
function isStartOf(part: readonly Said[], whole: readonly Said[]): boolean {
  return part.every((one, index) => {
    const other = whole[index]
    if (other?.type !== one.type) return false
    if (one.type === 'tool-call' || other.type === 'tool-call')
      return JSON.stringify(one) === JSON.stringify(other)
    return index === part.length - 1 ? other.text.startsWith(one.text) : other.text === one.text
  })
}

/** The values of `whole` behind its beginning `part`. */
function rest(whole: readonly Said[], part: readonly Said[]): Said[] {
  const last = part.length - 1
  return whole.slice(Math.max(0, last)).flatMap((one, index) => {
    const shown = part[last]
    if (index > 0 || shown === undefined) return [one]
    if (one.type === 'tool-call' || shown.type === 'tool-call' || one.text.length === shown.text.length)
      return []
    return [{ ...one, text: one.text.slice(shown.text.length) }]
  })
}
