/** A request as routes see it, whatever brought it here. */
export interface Incoming {
  /** In capitals. */
  readonly method: string
  /** Path and query, as they were sent. */
  readonly target: string
  /** The name of the server in its URL, where the request has no header `Host`. */
  readonly authority: string
  /** A header by its name in small letters; null if there is none. */
  header(name: string): string | null
  /** Whether the body has come as a whole, so that nobody waits for it. */
  readonly isWhole: boolean
  /** The whole body. Throws `payload_too_large` once it is larger. */
  bytes(maxBytes: number): Promise<Uint8Array>
  /** Aborted when whoever asked is gone. */
  readonly signal: AbortSignal
}

/** An answer before it is sent. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>
}

/** The path of a request, without its query. */
export function pathOf({ target }: Pick<Incoming, 'target'>): string {
  const end = target.indexOf('?')
  return end === -1 ? target : target.slice(0, end)
}

/** The query of a request. */
export function queryOf({ target }: Pick<Incoming, 'target'>): URLSearchParams {
  const start = target.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : target.slice(start))
}
