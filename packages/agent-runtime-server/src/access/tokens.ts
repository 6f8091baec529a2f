import { createHash, timingSafeEqual } from 'node:crypto'
import {
  type ConfigProblem,
  ConfigError,
  isName,
  isRecord,
  listOf,
  problemsIn,
  type Rules,
} from '@ku0/agent-runtime-core'
import { type Caller, owner } from './caller.ts'
import { StoreTokens } from './store-tokens.ts'
import { type TokenOptions, scopes } from './token-options.ts'

/** The hash under which a token is kept. A token should be drawn at random and have at least 32 characters. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/**
 * Accepted tokens: those that the store holds, which all servers on it share; a list; or a function that gives the list of now. The function is called
 * with every request, and should return the same list until that changes.
 */
export type AcceptedTokens = 'store' | readonly TokenOptions[] | (() => readonly TokenOptions[])

interface Entry {
  readonly digest: Buffer
  readonly expiresAt: number
  readonly caller: Caller
}

/** The callers of the accepted tokens. */
export class TokenBook {
  readonly #given: () => readonly TokenOptions[]
  #tokens: readonly TokenOptions[] = []
  #entries: ReadonlyMap<string, Entry> = new Map()
  readonly #stored: StoreTokens | undefined
  readonly #isOpen: boolean

  /** Throws a `ConfigError` that names everything that is wrong with the tokens. */
  constructor(given: Exclude<AcceptedTokens, 'store'> | StoreTokens) {
    this.#stored = given instanceof StoreTokens ? given : undefined
    if (given instanceof StoreTokens) this.#given = () => given.tokens
    else this.#given = typeof given === 'function' ? given : () => given
    this.#isOpen = Array.isArray(given) && given.length === 0
    this.#read()
  }

  /** Without tokens everybody who reaches the server is its owner. A function may come to give some, so it never opens a server. */
  get isOpen(): boolean {
    return this.#stored?.isOpen ?? this.#isOpen
  }

  /** To be awaited before a request is looked at; undefined if there is nothing to wait for. */
  refresh(): Promise<void> | undefined {
    return this.#stored?.refresh()
  }

  /** The holder of a token at a moment. Every entry is compared, in constant time. */
  find(token: string, now: number): Caller | undefined {
    this.#read()
    const digest = createHash('sha256').update(token).digest()
    let found: Caller | undefined
    for (const entry of this.#entries.values())
      if (timingSafeEqual(entry.digest, digest) && now < entry.expiresAt) found = entry.caller
    return found
  }

  /** Whether a caller that was let in would be let in again. A token with other rights is another caller. */
  accepts(caller: Caller, now: number): boolean {
    if (caller === owner) return this.isOpen
    this.#read()
    for (const entry of this.#entries.values()) if (entry.caller === caller) return now < entry.expiresAt
    return false
  }

  #read(): void {
    const tokens = this.#given()
    if (tokens === this.#tokens) return
    const problems = tokens.flatMap((token, index) => problemsOfToken(token, `tokens[${index}]`))
    if (problems.length > 0) throw new ConfigError(problems)
    // A token that stays what it was stays the same caller: its rate and its streams are counted on.
    this.#entries = new Map(
      tokens.map((token) => {
        const key = JSON.stringify(token)
        return [key, this.#entries.get(key) ?? entryOf(token)]
      }),
    )
    this.#tokens = tokens
  }
}

function entryOf(token: TokenOptions): Entry {
  const expiresAt = token.expiresAt === undefined ? Number.POSITIVE_INFINITY : Number(token.expiresAt)
  return {
    digest: Buffer.from(token.hash, 'hex'),
    expiresAt,
    caller: {
      name: token.name,
      scopes: new Set(token.scopes),
      ...(token.client === undefined ? {} : { client: token.client }),
      ...(token.types === undefined ? {} : { types: new Set(token.types) }),
      ...(token.expiresAt === undefined ? {} : { expiresAt }),
    },
  }
}

function problemsOfToken(token: unknown, path: string): ConfigProblem[] {
  if (!isRecord(token)) return [{ path, allowed: 'an object with name, hash and scopes' }]
  // What was given stays out of the message: it may be the token itself.
  return problemsIn(token, rules, { path: `${path}.`, required: ['name', 'hash', 'scopes'] }).map(
    ({ path: place, allowed }) => ({ path: place, allowed }),
  )
}

const name = ['1 to 255 characters', isName] as const
const rules: Rules<TokenOptions> = {
  name,
  hash: [
    'the SHA-256 of the token, 64 hex digits: hashToken makes it',
    (it) => /^[\da-f]{64}$/i.test(String(it)),
  ],
  scopes: listOf(`a list of ${scopes.join(', ')}`, (it) => scopes.some((scope) => scope === it)),
  client: name,
  types: listOf('a list of task types', isName),
  expiresAt: ['a Date or epoch ms', (it) => Number.isFinite(it instanceof Date ? it.getTime() : it)],
}
