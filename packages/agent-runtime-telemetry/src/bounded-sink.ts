import type { Writable } from 'node:stream'

/**
 * The bytes that a stream has accepted and not yet written are bounded here: a pipe's stream takes everything, so the event loop never
 * waits for the reader.
 */
export class BoundedSink {
  readonly #stream: Writable
  readonly #maxWaitingBytes: number
  /** Lines. */
  dropped = 0

  constructor(stream: Writable, maxWaitingBytes: number) {
    this.#stream = stream
    this.#maxWaitingBytes = maxWaitingBytes
    if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore)
  }

  write(line: string): void {
    const stream = this.#stream
    if (!stream.writable || stream.writableLength + line.length > this.#maxWaitingBytes) {
      this.dropped += 1
      return
    }
    try {
      stream.write(line, this.#written)
    } catch {
      this.dropped += 1
    }
  }

  readonly #written = (error: Error | null | undefined): void => {
    if (error) this.dropped += 1
  }
}

/** A reader who went away (EPIPE) must not bring the process down; the lines are counted where they are written. */
function ignore(): void {}
