import type { TaskContext } from '@ku0/agent-runtime'
import type { LiveKind, LivePiece, StreamChunk } from './stream-chunk.ts'

/** The place of a try: which step, in which pass, and the how-manieth of the pass. */
export interface TryPlace {
  readonly step: string
  readonly pass: number
  readonly try: number
}

/**
 * Emits what one try of a model call brings, while it comes. One commit is under way at a time, and what arrives meanwhile goes into the next, so that a fast model
 * does not fill the store with a row for each token. A failed emit never fails the call.
 */
export class LiveOutput {
  readonly #ctx: TaskContext
  readonly #place: TryPlace
  readonly #kinds: ReadonlySet<LiveKind>
  #waiting: LivePiece[] = []
  #flushing: Promise<void> | undefined
  #index = 0

  constructor(ctx: TaskContext, place: TryPlace, kinds: ReadonlySet<LiveKind>) {
    this.#ctx = ctx
    this.#place = place
    this.#kinds = kinds
  }

  /** A try begins: what an earlier one has emitted counts no more. */
  start(): void {
    if (this.#kinds.size > 0) this.#add({ stream: 'start' })
  }

  push(piece: LivePiece | undefined): void {
    if (piece !== undefined && this.#kinds.has(piece.stream as LiveKind)) this.#add(piece)
  }

  /** The whole has come. Resolves when all of it is stored, so that it stands before the step's result. */
  async end(): Promise<void> {
    if (this.#kinds.size > 0) this.#add({ stream: 'end' })
    while (this.#flushing !== undefined) await this.#flushing
  }

  #add(piece: LivePiece): void {
    const last = this.#waiting.at(-1)
    const joined = last === undefined ? undefined : join(last, piece)
    if (joined === undefined) this.#waiting.push(piece)
    else this.#waiting[this.#waiting.length - 1] = joined
    this.#flushing ??= this.#flush().finally(() => (this.#flushing = undefined))
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const pieces = this.#waiting
      this.#waiting = []
      const stored = pieces.map((piece) => {
        const chunk: StreamChunk = { ...piece, ...this.#place, index: this.#index }
        this.#index += 1
        return this.#ctx.emit(chunk)
      })
      for (const result of await Promise.allSettled(stored))
        if (result.status === 'rejected')
          this.#ctx.log.debug('a part of a stream was not emitted', { step: this.#place.step })
    }
  }
}

function join(last: LivePiece, next: LivePiece): LivePiece | undefined {
  if (last.stream === 'text' && next.stream === 'text') return { ...last, text: last.text + next.text }
  if (last.stream === 'reasoning' && next.stream === 'reasoning')
    return { ...last, text: last.text + next.text }
  return undefined
}
