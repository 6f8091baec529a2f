import type { Clock } from '@ku0/agent-runtime-core'
import type { ServerLimits } from '../limits.ts'
import { Problem, refusal } from '../problem/problem.ts'
import { type Caller, owner } from './caller.ts'
import type { Incoming } from '../wire/messages.ts'
import { bare } from './names.ts'
import { RateBook } from './rates.ts'
import type { TokenBook } from './tokens.ts'

/**
 * The checks that every request passes first, whatever its route: the length of its URL, the name under which it
 * reached the server, the page that it came from, and its token.
 */
export class Gate {
  readonly #hosts: ReadonlySet<string>
  readonly #tokens: TokenBook
  readonly #limits: ServerLimits
  readonly #clock: Clock
  readonly #rates: RateBook

  constructor(parts: {
    readonly hosts: ReadonlySet<string>
    readonly tokens: TokenBook
    readonly limits: ServerLimits
    readonly clock: Clock
  }) {
    this.#hosts = parts.hosts
    this.#tokens = parts.tokens
    this.#limits = parts.limits
    this.#clock = parts.clock
    this.#rates = new RateBook(parts.limits.maxRequestsPerSecond, parts.clock)
  }

  /** The caller of a request; undefined if it has no token and the server has some. Throws a {@link Problem} to refuse it. */
  pass(request: Incoming): Caller | undefined {
    const { maxUrlBytes } = this.#limits
    if (request.target.length > maxUrlBytes)
      throw refusal('uri_too_long', `path and query are longer than ${maxUrlBytes} bytes (maxUrlBytes)`)
    const host = request.header('host') ?? request.authority
    if (!this.#hosts.has(bare(host))) {
      const names = [...this.#hosts].join(', ')
      throw refusal('host_refused', `the header Host is not a name of this server; its names are ${names}`)
    }
    refuseOtherOrigins(request, host)
    const caller = this.#callerOf(request.header('authorization'))
    if (caller !== undefined) this.#rates.count(caller)
    return caller
  }

  #callerOf(authorization: string | null): Caller | undefined {
    if (this.#tokens.isOpen) return owner
    if (authorization === null) return undefined
    const token = /^Bearer +([\w~+/.=-]{1,512}) *$/i.exec(authorization)?.[1]
    const caller = token === undefined ? undefined : this.#tokens.find(token, this.#clock.now())
    if (caller === undefined) throw unauthenticated('the token is unknown, revoked or expired')
    return caller
  }
}

/** The answer to a request that has to say who makes it. */
export function unauthenticated(detail: string): Problem {
  return refusal('unauthenticated', detail, { 'www-authenticate': 'Bearer' })
}

/** A browser says from which page a request comes; a program says nothing of the kind. */
function refuseOtherOrigins(request: Incoming, host: string): void {
  const site = request.header('sec-fetch-site')
  if (site !== null && site !== 'same-origin' && site !== 'none')
    throw refusal('origin_refused', 'the header Sec-Fetch-Site says that a page of another site sent this')
  const origin = request.header('origin')
  if (origin !== null && origin !== `http://${host}` && origin !== `https://${host}`)
    throw refusal('origin_refused', 'the header Origin names another origin than this server')
}
