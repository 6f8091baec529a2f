/** A connection to a server: texts up, texts down, in order. A text that was sent and has not arrived when it closes is lost. */
export interface Transport {
  send(text: string): void
  /** Ends it; nothing more is heard. */
  close(): void
}

/** The receiver of a connection's texts. */
export interface TransportHearer {
  opened(): void
  heard(text: string): void
  /** It is over, or did not come about; `final`: another one would be refused for the same reason. */
  closed(error: Error, final: boolean): void
}

/** Makes a connection. It says `opened` or `closed` later, not before it returns. */
export type Dial = (hearer: TransportHearer) => Transport
