import process from 'node:process'
import type { Writable } from 'node:stream'
import type { WriteStream } from 'node:tty'
import { assertOptions, type Clock, hasAll, isAmount, isOneOf, type Rules } from '@ku0/agent-runtime-core'
import { BoundedSink } from './bounded-sink.ts'
import { type Bindings, lineOf } from './log-line.ts'
import { prettyLine } from './pretty-line.ts'

/** The levels of log lines with the numbers that stand for them, which are pino's. */
const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const

export type LogLevel = keyof typeof levels

/** Where and how log lines are written. */
export interface LoggerOptions {
  readonly clock: Clock
  /** Default: standard error, since standard output is the program's own. */
  readonly stream?: Writable | undefined
  /** `pretty` for a person, `json` for a program. Default: `pretty` if the stream is a terminal, else `json`. */
  readonly format?: 'json' | 'pretty' | undefined
  /** Default: `info`. */
  readonly level?: LogLevel | 'silent' | undefined
  /** How much may wait for a reader who does not read. Default: 1 MiB. */
  readonly maxWaitingBytes?: number | undefined
}

/** Writes one line: the fields and the message, or the message alone. An error in place of the fields becomes the field `err`. */
export type WriteLine = (fields: object | string, message?: string) => void

/** The result of {@link createLogger}: the part of a pino logger that libraries use. */
export interface Logger extends Readonly<Record<LogLevel, WriteLine>> {
  readonly level: LogLevel | 'silent'
  isLevelEnabled(level: string): boolean
  /** A logger whose lines have these fields, too. */
  child(fields: object): Logger
}

/**
 * A logger that writes one JSON object a line, with the fields that pino writes: `level`, `time`, `pid`, `msg`. On a terminal it writes the same for a person: the time of day, the level by
 * name, the message and the fields, in colours unless `NO_COLOR` is set. It never blocks and never throws: lines wait
 * in memory while the reader of a pipe is slow, up to a limit, and beyond it are dropped and counted. Throws `invalid_argument` for options that
 * are not as they should be. Source: `docs/reliability.md` F11.
 */
export function createLogger(options: LoggerOptions): Logger {
  assertOptions('createLogger', options, loggerRules, { required: ['clock'] })
  const { clock, stream = process.stderr, level = 'info', maxWaitingBytes = 1_048_576 } = options
  const terminal = stream as Partial<WriteStream>
  const { format = terminal.isTTY === true ? 'pretty' : 'json' } = options
  const hasColors = terminal.isTTY === true && terminal.hasColors?.() === true
  const sink = new BoundedSink(stream, maxWaitingBytes)
  const form = format === 'pretty' ? (json: string) => prettyLine(json, hasColors) : (json: string) => json
  return new LineWriter({ clock, level, sink, form }, { pid: process.pid })
}

const loggerRules: Rules<LoggerOptions> = {
  clock: hasAll('a clock with the method now', 'now'),
  stream: hasAll('a stream that can be written to', 'write', 'on', 'listeners'),
  format: isOneOf(['json', 'pretty']),
  level: isOneOf([...(Object.keys(levels) as LogLevel[]), 'silent']),
  // May be Infinity.
  maxWaitingBytes: ['a number of bytes, 0 or more', (value) => isAmount(value) || value === Infinity],
}

/** The lines that a logger of {@link createLogger}, or a child of it, has dropped; 0 for any other. */
export function droppedLines(logger: object | undefined): number {
  try {
    return logger instanceof LineWriter ? logger.dropped : 0
  } catch {
    // What cannot be looked at.
    return 0
  }
}

interface Writing {
  readonly clock: Clock
  readonly level: LogLevel | 'silent'
  readonly sink: BoundedSink
  readonly form: (json: string) => string
}

class LineWriter implements Logger {
  readonly #writing: Writing
  readonly #bindings: Bindings
  readonly trace = this.#writerOf('trace')
  readonly debug = this.#writerOf('debug')
  readonly info = this.#writerOf('info')
  readonly warn = this.#writerOf('warn')
  readonly error = this.#writerOf('error')
  readonly fatal = this.#writerOf('fatal')

  constructor(writing: Writing, bindings: Bindings) {
    this.#writing = writing
    this.#bindings = bindings
  }

  get level(): LogLevel | 'silent' {
    return this.#writing.level
  }

  get dropped(): number {
    return this.#writing.sink.dropped
  }

  isLevelEnabled(level: string): boolean {
    const least = this.#writing.level
    return least !== 'silent' && (levels[level as LogLevel] ?? Number.NaN) >= levels[least]
  }

  child(fields: object): Logger {
    return new LineWriter(this.#writing, { ...this.#bindings, ...fields })
  }

  #writerOf(level: LogLevel): WriteLine {
    return (fields, message) => {
      if (!this.isLevelEnabled(level)) return
      const { clock, sink, form } = this.#writing
      sink.write(form(lineOf({ level: levels[level], time: clock.now() }, this.#bindings, fields, message)))
    }
  }
}
