import { decode, type StoredEvent } from '@ku0/agent-runtime-core'

/** A step whose function ran although its result was recorded. */
export interface Rerun {
  readonly taskId: string
  readonly key: string
}

/**
 * What no store can tell: how often the function of each step ran, in all processes of a test, and whether one ran again although
 * its result was recorded. It hears of each commit before anybody else.
 */
export class StepLedger {
  readonly reruns: Rerun[] = []
  readonly #runs = new Map<string, number>()
  readonly #recorded = new Set<string>()

  runsOf(taskId: string, key: string): number {
    return this.#runs.get(nameOf(taskId, key)) ?? 0
  }

  began(taskId: string, key: string): void {
    const name = nameOf(taskId, key)
    this.#runs.set(name, (this.#runs.get(name) ?? 0) + 1)
    if (this.#recorded.has(name)) this.reruns.push({ taskId, key })
  }

  hear({ type, taskId, data }: StoredEvent): void {
    if (type !== 'step.completed' && type !== 'step.inherited') return
    this.#recorded.add(nameOf(taskId, (decode(data) as { key: string }).key))
  }
}

function nameOf(taskId: string, key: string): string {
  return JSON.stringify([taskId, key])
}
