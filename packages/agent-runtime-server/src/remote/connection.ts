/** A connection of a remote process, whatever carries it. */
export interface LineConnection {
  /** Hands a frame over. */
  send(text: string): void
  /** Bytes that were handed over and are not on their way yet. */
  readonly waiting: number
  /** While it is held, nothing more is read from it. */
  hold(held: boolean): void
  /** Ends it. */
  close(): void
}

/** The receiver of a connection's texts. */
export interface LineEnd {
  heard(text: string): void
  closed(): void
}
