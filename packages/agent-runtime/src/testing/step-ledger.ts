import { parseJson, type StoredEvent } from '@ku0/agent-runtime-core'

/** A step whose function ran after its result was recorded. */
export interface Rerun {
  readonly taskId: string
  readonly key: string
}

/**
 * Counts what no store can know: how often the function of each step ran, in all processes of a test, and
 * whether one ran again after its result was recorded. It is called for each commit before anybody else.
 */
export class StepLedger {
  readonly reruns: Rerun[] = []
  readonly #runs = new Map<string, number>()
  /** By task: the recorded keys and the seq of their events. Keys that a rejection voided are left out. */
  readonly #recorded = new Map<string, Map<string, number>>()

  runsOf(taskId: string, key: string): number {
    return this.#runs.get(nameOf(taskId, key)) ?? 0
  }

  began(taskId: string, key: string): void {
    const name = nameOf(taskId, key)
    this.#runs.set(name, (this.#runs.get(name) ?? 0) + 1)
    if (this.#recorded.get(taskId)?.has(key) === true) this.reruns.push({ taskId, key })
  }

  hear({ type, taskId, seq, data }: StoredEvent): void {
    if (type === 'task.resumed') this.#forget(taskId, (parseJson(data) as { since?: number }).since)
    if (type !== 'step.completed' && type !== 'step.inherited') return
    const recorded = this.#recorded.get(taskId) ?? new Map<string, number>()
    this.#recorded.set(taskId, recorded.set((parseJson(data) as { key: string }).key, seq))
  }

  /**
   * A rejection sends the task back: steps recorded after `since` run again. Source: `docs/semantics.md
   * 12.2`.
   */
  #forget(taskId: string, since = Number.POSITIVE_INFINITY): void {
    const recorded = this.#recorded.get(taskId)
    for (const [key, seq] of recorded ?? []) if (seq > since) recorded?.delete(key)
  }
}

function nameOf(taskId: string, key: string): string {
  return JSON.stringify([taskId, key])
}
