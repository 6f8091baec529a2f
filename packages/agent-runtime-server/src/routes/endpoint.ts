import type { z } from '../wire/zod.ts'
import type { Caller } from '../access/caller.ts'
import type { Scope } from '../access/token-options.ts'
import type { ServerLimits } from '../limits.ts'
import type { Serving } from '../serving.ts'
import type { Incoming, Reply } from '../wire/messages.ts'

/** The groups of the API's pages. */
type Tag =
  | 'access'
  | 'tasks'
  | 'events'
  | 'approvals'
  | 'limits'
  | 'schedules'
  | 'agents'
  | 'workers'
  | 'operation'

/** One route: what it takes, who may call it, and what it answers. The document of the API is made of these. */
export interface Endpoint<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
> {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** From `/api/v1` on, with `{name}` for its parameters. */
  readonly path: string
  /** Its name in the document, unique. */
  readonly id: string
  readonly tag: Tag
  readonly summary: string
  readonly description?: string
  /** The scope that a token has to allow. */
  readonly scope: Scope
  /**
   * The rights of a token that is bound to a client or to task types: `task`: call it for a task that it sees; `own`: the route keeps
   * to what it sees; `none`: the route is about the whole store, and is refused.
   */
  readonly bound: 'task' | 'own' | 'none'
  /** Whether it changes nothing, so that a read-only server answers it; by default that is so for the scope `read`. */
  readonly onlyReads?: boolean
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  /** Whether the body may be left out. */
  readonly bodyOptional?: boolean
  /** The largest body, where that is not `maxBodyBytes`. */
  readonly maxBytes?: (limits: ServerLimits) => number
  readonly answers: Readonly<Record<number, Answer>>
  /** Statuses of the problems that it answers beside those that every route has. */
  readonly problems?: readonly number[]
  readonly headers?: z.ZodObject
  /** The effect of the same request when it comes again. Every route that changes something says it. */
  readonly repeat?: Repeat
  readonly run: (call: Call<z.output<Params>, z.output<Query>, z.output<Body>>) => Promise<Reply>
}

/**
 * The effect of a repeated request. `keyed`: nothing more, if it has the key of the first. `harmless`: nothing more; a thing that was removed is a 404 then. `refused`: it is answered with 409, because
 * the first one has ended what it is about. `anew`: all of it once more, whatever key it has, so that a key is refused.
 */
type Repeat = 'keyed' | 'harmless' | 'refused' | 'anew'

/** The answer of a route. */
export interface Answer {
  readonly description: string
  readonly schema?: z.ZodType
  /** Media types beside JSON: a stream of events, lines of JSON. */
  readonly also?: Readonly<Record<string, string>>
}

/** A request that was let through and read. */
export interface Call<Params, Query, Body> {
  readonly serving: Serving
  readonly caller: Caller
  readonly request: Incoming
  readonly params: Params
  readonly query: Query
  readonly body: Body
}

/** A route with the types of what it takes. */
export function endpoint<
  Params extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(given: Endpoint<Params, Query, Body>): Endpoint {
  return given
}
