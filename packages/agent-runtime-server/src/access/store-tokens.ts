import type { AccessTokenRecord, Clock } from '@ku0/agent-runtime-core'
import type { TokenOptions } from './token-options.ts'

/**
 * The tokens of a store as a server knows them. It looks into the store once a second at most, when a request comes, and the request waits for
 * that: so a token that was revoked a second ago is refused, and a server that nobody asks does not ask either.
 */
export class StoreTokens {
  readonly #list: () => Promise<readonly AccessTokenRecord[]>
  readonly #clock: Clock
  readonly #report: (error: unknown) => void
  readonly #mayBeOpen: () => boolean
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  #known: readonly AccessTokenRecord[] | undefined
  #tokens: readonly TokenOptions[] = []

  constructor(parts: {
    readonly list: () => Promise<readonly AccessTokenRecord[]>
    readonly clock: Clock
    readonly report: (error: unknown) => void
    /** Whether everybody is let in as long as the store holds no token at all. */
    readonly mayBeOpen: () => boolean
  }) {
    this.#list = parts.list
    this.#clock = parts.clock
    this.#report = parts.report
    this.#mayBeOpen = parts.mayBeOpen
  }

  /** The tokens that are accepted, as of the last look. */
  get tokens(): readonly TokenOptions[] {
    return this.#tokens
  }

  /** Whether everybody is let in. Who has made a token wants it to be asked for, also once it was revoked. */
  get isOpen(): boolean {
    return this.#mayBeOpen() && this.#known?.length === 0
  }

  /**
   * Looks into the store if that is a second ago; undefined if there is nothing to wait for. Rejects if the store was never read. Later the tokens that
   * are known stay while it cannot be read: nothing that they allow works without it.
   */
  refresh(): Promise<void> | undefined {
    if (this.#looking !== undefined) return this.#looking
    if (this.#clock.monotonic() - this.#lookedAt < LOOK_MS) return undefined
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    // From the beginning of the look on: what is revoked during it may be missed by it.
    const lookedAt = this.#clock.monotonic()
    try {
      const found = await this.#list()
      this.#lookedAt = lookedAt
      if (isSame(found, this.#known)) return
      this.#known = found
      this.#tokens = found
        .filter(({ revokedAt }) => revokedAt === undefined)
        .map(({ name, hash, scopes, client, types, expiresAt }) => ({
          name,
          hash,
          scopes,
          client,
          types,
          expiresAt,
        }))
    } catch (error) {
      if (this.#known === undefined) throw error
      this.#lookedAt = lookedAt
      this.#report(error)
    }
  }
}

function isSame(one: readonly AccessTokenRecord[], other: readonly AccessTokenRecord[] | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const LOOK_MS = 1_000
