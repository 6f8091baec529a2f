/** A row of a numbered sequence that may grow while it is read. */
export interface Numbered {
  readonly seq: number
}

/**
 * The live end of a sequence, for one reader: a small buffer, and a promise for the next item. A reader that
 * is too slow finds the buffer emptied and reads from the store again, so nothing is lost, nothing comes
 * twice and memory is bounded. Source: `docs/semantics.md 9.1, 9.2`.
 */
export class Tail<T extends Numbered> {
  #buffer: T[] = []
  #wake = Promise.withResolvers<void>()
  #failure: { readonly error: unknown } | undefined
  /** No more items will come: the store has all of them. */
  over = false

  push(item: T): void {
    if (this.#buffer.length === CAPACITY) this.#buffer = []
    this.#buffer.push(item)
    this.#wake.resolve()
  }

  end(): void {
    this.over = true
    this.#wake.resolve()
  }

  fail(error: unknown): void {
    this.#failure ??= { error }
    this.#wake.resolve()
  }

  /**
   * The items after `cursor` without a gap, once there are any. Empty if the reader has to read from the
   * store.
   */
  async after(cursor: number): Promise<readonly T[]> {
    while (this.#buffer.every(({ seq }) => seq <= cursor) && !this.over && this.#failure === undefined) {
      this.#wake = Promise.withResolvers()
      await this.#wake.promise
    }
    if (this.#failure !== undefined) throw this.#failure.error
    const fresh = this.#buffer.filter(({ seq }) => seq > cursor)
    this.#buffer = []
    return fresh.every(({ seq }, index) => seq === cursor + 1 + index) ? fresh : []
  }
}

const CAPACITY = 256

/** Reads the next items after `cursor` from the store. */
export type ReadStretch<T> = (cursor: number) => Promise<readonly T[]>

/**
 * The history after `cursor`, then live items, until the sequence ends. `read` returns at most `limit` items.
 */
export async function* followTail<T extends Numbered>(
  tail: Tail<T>,
  from: number,
  limit: number,
  read: ReadStretch<T>,
): AsyncGenerator<T, void, undefined> {
  let cursor = from
  for (;;) {
    const { over } = tail
    for (
      let stretch = await read(cursor);
      stretch.length > 0;
      stretch = stretch.length < limit ? [] : await read(cursor)
    ) {
      for (const item of stretch) {
        cursor = item.seq
        yield item
      }
    }
    if (over) return
    for (const item of await tail.after(cursor)) {
      cursor = item.seq
      yield item
    }
  }
}
