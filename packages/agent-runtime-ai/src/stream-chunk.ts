/** The kinds of pieces of a model's answer that can be emitted while it comes. */
export type LiveKind = 'text' | 'reasoning' | 'tool-call'

/** One piece of a try of a model call. */
export type LivePiece =
  | { readonly stream: 'start' }
  | { readonly stream: 'text'; readonly text: string }
  | { readonly stream: 'reasoning'; readonly text: string }
  | { readonly stream: 'tool-call'; readonly toolName: string; readonly input: string }
  | { readonly stream: 'end' }

/**
 * A value that a durable model call hands to `ctx.emit`. A step that is tried again begins again with a `start`. Its chunks carry a later `pass`, or in the same pass
 * a higher `try`, and those of the earlier try count no more. {@link readStream} does that for a reader.
 */
export type StreamChunk = LivePiece & {
  /** The key of the step. */
  readonly step: string
  /** The fencing token of the pass that emitted it, which rises with every pass of a task. */
  readonly pass: number
  /** The number of the try in its pass, from 1. */
  readonly try: number
  /** The number of the chunk in its try, from 0. */
  readonly index: number
}

/** Whether a value that a task emitted is one of these. */
export function isStreamChunk(data: unknown): data is StreamChunk {
  if (typeof data !== 'object' || data === null) return false
  const { stream, step, pass, try: tried, index } = data as Partial<StreamChunk>
  return (
    typeof stream === 'string' &&
    typeof step === 'string' &&
    [pass, tried, index].every((number) => typeof number === 'number')
  )
}
