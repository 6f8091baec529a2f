import process from 'node:process'
import type { Writable } from 'node:stream'
import { assertOptions, type Clock, hasAll, isAmount, isOneOf, type Rules } from '@ku0/agent-runtime-core'
import { pino, symbols, type LevelWithSilent, type Logger } from 'pino'

/** Where and how log lines are written. */
export interface LoggerOptions {
  readonly clock: Clock
  /** Default: standard error, since standard output is the program's own. */
  readonly stream?: Writable | undefined
  /** Default: `info`. */
  readonly level?: LevelWithSilent | undefined
  /** How much may wait for a reader who does not read. Default: 1 MiB. */
  readonly maxWaitingBytes?: number | undefined
}

/**
 * A pino logger that never blocks and never throws: lines wait in memory while the reader of a pipe is slow, up to a limit,
 * and beyond it are dropped and counted. pino's own destination would wait for the reader instead, and with it the event loop.
 * Throws `invalid_argument` for options that are not as they should be. Source: `docs/reliability.md` F11.
 */
export function createLogger(options: LoggerOptions): Logger {
  assertOptions('createLogger', options, loggerRules, { required: ['clock'] })
  const { clock, stream = process.stderr, level = 'info', maxWaitingBytes = 1_048_576 } = options
  const timestamp = () => `,"time":${clock.now()}`
  return pino({ level, timestamp, base: { pid: process.pid } }, new BoundedSink(stream, maxWaitingBytes))
}

const loggerRules: Rules<LoggerOptions> = {
  clock: hasAll('a clock with the method now', 'now'),
  stream: hasAll('a stream that can be written to', 'write', 'on', 'listeners'),
  level: isOneOf([...Object.keys(pino.levels.values), 'silent']),
  // May be Infinity.
  maxWaitingBytes: ['a number of bytes, 0 or more', (value) => isAmount(value) || value === Infinity],
}

/** The lines that a logger of {@link createLogger}, or a child of it, has dropped; 0 for any other. */
export function droppedLines(logger: object | undefined): number {
  try {
    const sink = (logger as Readonly<Record<symbol, unknown>> | undefined)?.[symbols.streamSym]
    return sink instanceof BoundedSink ? sink.dropped : 0
  } catch {
    // Nothing, or what cannot be looked at.
    return 0
  }
}

/**
 * What a stream has accepted and not yet written is bounded here: a pipe's stream takes everything, so the event loop never
 * waits for the reader.
 */
class BoundedSink {
  readonly #stream: Writable
  readonly #maxWaitingBytes: number
  /** Lines. */
  dropped = 0

  constructor(stream: Writable, maxWaitingBytes: number) {
    this.#stream = stream
    this.#maxWaitingBytes = maxWaitingBytes
    if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore)
  }

  write(line: string): void {
    const stream = this.#stream
    if (!stream.writable || stream.writableLength + line.length > this.#maxWaitingBytes) {
      this.dropped += 1
      return
    }
    try {
      stream.write(line, this.#written)
    } catch {
      this.dropped += 1
    }
  }

  readonly #written = (error: Error | null | undefined): void => {
    if (error) this.dropped += 1
  }
}

/** A reader who went away (EPIPE) must not bring the process down; the lines are counted where they are written. */
function ignore(): void {}
