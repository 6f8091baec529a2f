/** One mistake of the first hours, and how it is tried. */
export interface Mistake {
  /** What somebody does, as a noun or a gerund. */
  readonly what: string
  /** The code or command that makes it, as people write it. */
  readonly code: string
}

/** A mistake that a program makes when it runs. `tried` returns what is said. */
export interface TriedMistake extends Mistake {
  readonly tried: () => unknown
}

/** What a call says: the message of its error. A call that succeeds says nothing. */
export async function saidBy(call: () => unknown): Promise<string> {
  try {
    const answer = await call()
    return typeof answer === 'string' ? answer : 'nothing'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
