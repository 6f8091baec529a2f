/** Options of {@link createHttpClient}. */
export interface HttpClientOptions {
  /** Where the server is: `http://localhost:7007`, or a path below which it is mounted. */
  readonly url: string | URL
  /** The token, or a function that returns it for each request. */
  readonly token?: string | (() => string | Promise<string>) | undefined
  /** In place of the platform's `fetch`: `server.fetch` in a test, an agent with settings of its own. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined
  /**
   * How often a request is sent again that can be repeated without harm: one that reads, and a submission with an `idempotencyKey`. It is
   * sent again if the connection broke, or the server said to come back later. 4 by default; streams come back until they have ended.
   */
  readonly retries?: number | undefined
  /** Waits between two tries; for tests. It rejects when the signal is aborted. */
  readonly pause?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined
}

/** Ends a call from outside. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}
