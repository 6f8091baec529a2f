import { logCatalogue, type LogEntry } from './catalogue.ts'
import { errorOf } from './error-of.ts'
import type { KnownEvent } from './source.ts'

/** The types of events that log lines are made of: none of them belongs to the life of a task that goes well. */
export const logEvents = Object.values(logCatalogue).map(({ event }) => event)

/** A logger that takes log lines; every pino logger is one. */
export interface LineLogger {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/**
 * Writes the log lines of the catalogue: one for each rejection, expiry, stale write, leak and failure. The fields are ids,
 * names and codes; what a caller or a handler wrote is added by `withPayloads` only. Source: `docs/semantics.md 16.3`.
 */
export class Logs {
  readonly #logger: LineLogger
  readonly #withPayloads: boolean

  constructor(logger: LineLogger, options: { readonly withPayloads: boolean }) {
    this.#logger = logger
    this.#withPayloads = options.withPayloads
  }

  record(event: KnownEvent): void {
    if (event.elsewhere === true) return
    switch (event.type) {
      case 'task.rejected': {
        const { type, lane, reason, message } = event.data
        this.#line(logCatalogue.rejected, event, { type, lane, reason }, { message })
        return
      }
      case 'lease.expired': {
        const { leaseId } = event.data
        const reason = 'reason' in event.data ? event.data.reason : event.data.kind
        this.#line(logCatalogue.expired, event, { leaseId, reason })
        return
      }
      case 'lease.lost': {
        const { leaseId, workerId } = event.data
        this.#line(logCatalogue.staleWrite, event, { leaseId, workerId })
        return
      }
      case 'credits.asked': {
        const { client, missing, tasks } = event.data
        this.#line(logCatalogue.creditsAsked, event, { client, missing, tasks })
        return
      }
      case 'task.leaked': {
        const { leaseId, afterMs } = event.data
        this.#line(logCatalogue.leaked, event, { leaseId, afterMs })
        return
      }
      case 'task.killed': {
        const { leaseId, afterMs } = event.data
        this.#line(logCatalogue.killed, event, { leaseId, afterMs })
        return
      }
      case 'task.failed': {
        const { kind, leaseId, error } = event.data
        const { name, code, message } = errorOf(error)
        this.#line(
          logCatalogue.failed,
          event,
          { kind, leaseId, errorName: name, errorCode: code },
          { errorMessage: message },
        )
        return
      }
      default:
        return
    }
  }

  #line(entry: LogEntry, event: KnownEvent, fields: Fields, payload: Fields = {}): void {
    const { type, taskId, seq, at } = event
    const said = this.#withPayloads ? { ...fields, ...payload } : fields
    this.#logger[entry.level]({ event: type, taskId: cut(taskId), seq, at, ...cutAll(said) }, entry.message)
  }
}

type Fields = Readonly<Record<string, string | number | undefined>>

function cutAll(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, typeof value === 'string' ? cut(value) : value]),
  )
}

function cut(text: string): string {
  return text.length > MAX_FIELD_LENGTH ? `${text.slice(0, MAX_FIELD_LENGTH)}…` : text
}

const MAX_FIELD_LENGTH = 1_000
