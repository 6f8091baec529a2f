import { assertFields, problemsIn, type Rules, wholeNumber } from '@ku0/agent-runtime-core'

/** The limits of a server. Sizes are bytes, durations ms. */
export interface ServerLimits {
  /**
   * The body of a request; a larger one is answered with 413. By default it leaves 64 KiB of room beside `maxPayloadBytes`, where the server takes
   * {@link ServerOptions.remoteWorkers | remote workers} and so knows the settings of the store.
   */
  readonly maxBodyBytes: number
  /** All headers of a request together. */
  readonly maxHeaderBytes: number
  /** Path and query of a request; a longer one is answered with 414. */
  readonly maxUrlBytes: number
  /** Open connections of `serve`; the next one is closed. */
  readonly maxConnections: number
  /** Open event streams and long polls, of all callers. */
  readonly maxStreams: number
  /** Open event streams and long polls of one token. */
  readonly maxStreamsPerToken: number
  /** Requests of one token in a second, and the burst that it may make after a quiet second. */
  readonly maxRequestsPerSecond: number
  /** How long a connection of `serve` may take to send its headers. */
  readonly headersTimeoutMs: number
  /** How long a request of `serve` may take to arrive as a whole. */
  readonly bodyTimeoutMs: number
  /** The longest `waitMs` of a long poll. */
  readonly maxWaitMs: number
  /** The bytes that may wait for one reader of a stream. */
  readonly maxStreamBufferBytes: number
  /** How long a reader whose buffer is full may take nothing, before its stream is ended. */
  readonly maxStreamStallMs: number
  /** How long a stream is silent before it sends a comment, and how often the tokens of all that is open are looked at. */
  readonly keepAliveMs: number
  /** Submissions in one request. */
  readonly maxSubmissions: number
  /** Tasks that one page of a list looks at for a filter of labels, client or text. */
  readonly maxScannedTasks: number
  /** Steps, leases and children that the answer about one task has of each. */
  readonly maxTaskRows: number
  /** Events that the stream of all tasks keeps for readers that come back. */
  readonly maxRecentEvents: number
  /** Bulk actions that are counted or under way. */
  readonly maxBulkActions: number
  /** Tasks that one bulk action may be about. */
  readonly maxBulkTasks: number
  /** Open lines of remote workers. */
  readonly maxLines: number
  /** Calls of one line that may wait for their answers; of a process that sends more nothing is read until they are answered. */
  readonly maxLineCalls: number
  /** One frame of a line: a write with its values, or several. By default it is four times `maxPayloadBytes` of the store, and 4 MiB at least. */
  readonly maxLineFrameBytes: number
  /** The bytes that may wait for one process on a line. A process that leaves more unread is cut off with the next message, and connects again. */
  readonly maxLineBufferBytes: number
  /** How long `close` waits for open requests. */
  readonly drainMs: number
}

/** The limits of a server that names none. */
export const defaultLimits: ServerLimits = {
  maxBodyBytes: 1_114_112,
  maxHeaderBytes: 16_384,
  maxUrlBytes: 8_192,
  maxConnections: 10_000,
  maxStreams: 5_000,
  maxStreamsPerToken: 500,
  maxRequestsPerSecond: 1_000,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  maxWaitMs: 60_000,
  maxStreamBufferBytes: 262_144,
  maxStreamStallMs: 10_000,
  keepAliveMs: 15_000,
  maxSubmissions: 1_000,
  maxScannedTasks: 1_000,
  maxTaskRows: 200,
  maxRecentEvents: 1_024,
  maxBulkActions: 16,
  maxBulkTasks: 100_000,
  maxLines: 2_000,
  maxLineCalls: 1_024,
  maxLineFrameBytes: 4_194_304,
  maxLineBufferBytes: 33_554_432,
  drainMs: 10_000,
}

/**
 * All limits, with the given ones in place of the defaults, which leave room for values of the store of `maxPayloadBytes`. Throws `invalid_argument` for
 * one that does not exist or fit.
 */
export function limitsOf(given: Partial<ServerLimits> = {}, maxPayloadBytes = 0): ServerLimits {
  assertFields(problemsIn({ ...given }, rules, { path: 'option limits.' }))
  const { maxBodyBytes, maxLineFrameBytes, maxLineBufferBytes } = defaultLimits
  // A frame holds the text of a value as a text within a text, in which each quote and each backslash takes another byte.
  const frameBytes =
    given.maxLineFrameBytes ?? Math.min(MOST, Math.max(maxLineFrameBytes, 4 * maxPayloadBytes))
  return {
    ...defaultLimits,
    maxBodyBytes: Math.min(MOST, Math.max(maxBodyBytes, maxPayloadBytes + 65_536)),
    maxLineFrameBytes: frameBytes,
    // While the largest frame is on its way, small ones wait behind it.
    maxLineBufferBytes: Math.min(MOST, Math.max(maxLineBufferBytes, 2 * frameBytes)),
    ...given,
  }
}

/** The body that carries frames where lines are made of requests: each is a text once more, and small ones travel together. */
export function maxFramesBytes({ maxBodyBytes, maxLineFrameBytes }: ServerLimits): number {
  return Math.max(maxBodyBytes, 2 * maxLineFrameBytes + 4_194_304)
}

const MOST = 1_000_000_000
const amount = wholeNumber(1, MOST)
const rules: Rules<ServerLimits> = {
  maxBodyBytes: amount,
  maxHeaderBytes: wholeNumber(1_024, 1_048_576),
  maxUrlBytes: amount,
  maxConnections: amount,
  maxStreams: amount,
  maxStreamsPerToken: amount,
  maxRequestsPerSecond: amount,
  headersTimeoutMs: amount,
  bodyTimeoutMs: amount,
  maxWaitMs: amount,
  maxStreamBufferBytes: amount,
  maxStreamStallMs: amount,
  keepAliveMs: amount,
  maxSubmissions: amount,
  maxScannedTasks: amount,
  maxTaskRows: wholeNumber(1, 1_000),
  maxRecentEvents: amount,
  maxBulkActions: amount,
  maxBulkTasks: amount,
  maxLines: amount,
  maxLineCalls: amount,
  maxLineFrameBytes: wholeNumber(65_536, MOST),
  maxLineBufferBytes: amount,
  drainMs: wholeNumber(0, MOST),
}
