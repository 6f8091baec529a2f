/** Where the runtime writes its log: any pino logger, or an object with the same methods. */
export interface RuntimeLogger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** Pino loggers have it. Stacks of errors are logged only if `debug` is enabled. */
  isLevelEnabled?(level: 'debug'): boolean
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** Writes one line of the runtime's log: its own, or one that a handler wrote. Never throws, never waits. */
export type LogLine = (
  level: LogLevel,
  message: string,
  fields?: Readonly<Record<string, unknown>>,
  author?: 'handler',
) => void

/** Where lines go that nobody wants to read: whoever would have to do something only to log it leaves that. */
export const silent: LogLine = () => {}
