/**
 * Lets the requests that arrive in one turn of the event loop go on together. Their calls of the store then cross to its thread as
 * one message and are written in one commit; request by request, each would wake the thread.
 */
export class Turns {
  readonly #later: (run: () => void) => void
  #end: Promise<void> | undefined

  /** `later` runs a function after what waits to be read was read. */
  constructor(later: (run: () => void) => void) {
    this.#later = later
  }

  /** Resolves at the end of this turn. */
  end(): Promise<void> {
    return (this.#end ??= new Promise((resolve) => {
      this.#later(() => {
        this.#end = undefined
        resolve()
      })
    }))
  }
}
