import { type Frame } from './frame.ts'

/**
 * The newest frames, so that an event is made into text once for all its readers: they are woken by the same commit, and ask for it one
 * after another. Bounded in number and in bytes.
 */
export class FrameCache {
  readonly #frames = new Map<string, Frame>()
  #bytes = 0

  take(key: string, make: () => Frame): Frame {
    const known = this.#frames.get(key)
    if (known !== undefined) return known
    const frame = make()
    if (frame.bytes.byteLength > MAX_BYTES / 4) return frame
    this.#frames.set(key, frame)
    this.#bytes += frame.bytes.byteLength
    for (const [oldest, { bytes }] of this.#frames) {
      if (this.#frames.size <= MAX_FRAMES && this.#bytes <= MAX_BYTES) break
      this.#frames.delete(oldest)
      this.#bytes -= bytes.byteLength
    }
    return frame
  }
}

const MAX_FRAMES = 1_024
const MAX_BYTES = 1_048_576
