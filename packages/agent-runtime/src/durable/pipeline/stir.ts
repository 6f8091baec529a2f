import { type Claim, parseJson, type Submission } from '@ku0/agent-runtime-core'

/**
 * Tells the stages that this process runs what happened in their pipelines, so that a short wait ends at once. It is a hint: a stage that
 * hears nothing asks the store.
 */
export class Stir {
  /** The tasks of stages that run in this process. */
  readonly #here = new Set<string>()
  readonly #listeners = new Map<string, Set<Listener>>()

  /** The one of a store. */
  static of(store: object): Stir {
    let stir = stirs.get(store)
    if (stir === undefined) stirs.set(store, (stir = new Stir()))
    return stir
  }

  /** A pass of a stage runs here: this process is told of what it does. */
  begun(taskId: string): void {
    this.#here.add(taskId)
  }

  left(taskId: string): void {
    this.#here.delete(taskId)
  }

  runsHere(taskId: string): boolean {
    return this.#here.has(taskId)
  }

  /** Tells whenever something happens to one of the topics. Returns what stops that. */
  listen(topics: readonly string[], listener: Listener): () => void {
    for (const topic of topics) {
      const listeners = this.#listeners.get(topic)
      if (listeners === undefined) this.#listeners.set(topic, new Set([listener]))
      else listeners.add(listener)
    }
    return () => {
      for (const topic of topics) {
        const listeners = this.#listeners.get(topic)
        listeners?.delete(listener)
        if (listeners?.size === 0) this.#listeners.delete(topic)
      }
    }
  }

  stir(topics: readonly string[]): void {
    for (const topic of topics) for (const it of this.#listeners.get(topic) ?? []) it.heard()
  }

  /**
   * Tells the one that has listened longest. There is room for one of those that wait for it; who has taken it,
   * or leaves without it, tells the next.
   */
  stirFirst(topics: readonly string[]): void {
    for (const topic of topics) {
      const [first, ...others] = this.#listeners.get(topic) ?? []
      first?.heard()
      for (const it of others) it.moved()
    }
  }

  /** Something was done about these topics that is no news for those who wait for them, but may soon be. */
  move(topics: readonly string[]): void {
    for (const topic of topics) for (const it of this.#listeners.get(topic) ?? []) it.moved()
  }

  /** A task has completed, maybe one of a stage: a stream may have ended, and whom it held back may go on. */
  completed({ submission }: Pick<Claim, 'submission'>): void {
    if (this.#listeners.size === 0) return
    const { parentId } = parseJson(submission) as Pick<Submission, 'parentId'>
    if (parentId !== undefined) this.stir([endTopicOf(parentId)])
  }
}

/** One who waits for something. */
interface Listener {
  /** It may have come. */
  heard(): void
  /** It comes nearer. */
  moved(): void
}

/** The topic of events of some type of a pipeline, or of room for them. */
export function topicOf(pipeline: string, of: 'events' | 'room', type: string): string {
  return JSON.stringify([pipeline, of, type])
}

/** The topic of the ends of the tasks of a pipeline. */
export function endTopicOf(pipeline: string): string {
  return JSON.stringify([pipeline])
}

const stirs = new WeakMap<object, Stir>()
