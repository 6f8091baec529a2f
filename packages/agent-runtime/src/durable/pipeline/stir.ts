import { type Claim, parseJson, type Submission } from '@ku0/agent-runtime-core'

/**
 * Tells the stages that this process runs what happened in their pipelines, so that a short wait ends at once. It is a hint: a stage that
 * hears nothing asks the store.
 */
export class Stir {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** The one of a store. */
  static of(store: object): Stir {
    let stir = stirs.get(store)
    if (stir === undefined) stirs.set(store, (stir = new Stir()))
    return stir
  }

  /** Calls `heard` whenever one of the topics is stirred. Returns what stops that. */
  listen(topics: readonly string[], heard: () => void): () => void {
    for (const topic of topics) {
      const listeners = this.#listeners.get(topic)
      if (listeners === undefined) this.#listeners.set(topic, new Set([heard]))
      else listeners.add(heard)
    }
    return () => {
      for (const topic of topics) {
        const listeners = this.#listeners.get(topic)
        listeners?.delete(heard)
        if (listeners?.size === 0) this.#listeners.delete(topic)
      }
    }
  }

  stir(topics: readonly string[]): void {
    for (const topic of topics) for (const heard of this.#listeners.get(topic) ?? []) heard()
  }

  /** A task has completed, maybe one of a stage: a stream may have ended, and whom it held back may go on. */
  completed({ submission }: Pick<Claim, 'submission'>): void {
    if (this.#listeners.size === 0) return
    const { parentId } = parseJson(submission) as Pick<Submission, 'parentId'>
    if (parentId !== undefined) this.stir([endTopicOf(parentId)])
  }
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
