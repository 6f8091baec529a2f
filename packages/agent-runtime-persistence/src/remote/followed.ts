import type { Interest, OutputChunk, StoredEvent } from '@ku0/agent-runtime-core'

/** The tasks that a process follows, and how far it has heard of each: after a cut it asks for the rest. */
export class Followed {
  interest: Interest = { types: [], tasks: [] }
  private readonly events = new Map<string, number>()
  private readonly chunks = new Map<string, number>()

  state(interest: Interest): void {
    this.interest = interest
    const tasks = new Set(interest.tasks)
    for (const seen of [this.events, this.chunks])
      for (const taskId of seen.keys()) if (!tasks.has(taskId)) seen.delete(taskId)
  }

  heard(events: readonly StoredEvent[], chunks: readonly OutputChunk[]): void {
    const tasks = new Set(this.interest.tasks)
    for (const { taskId, seq } of events) if (tasks.has(taskId)) raise(this.events, taskId, seq)
    for (const { taskId, seq } of chunks) if (tasks.has(taskId)) raise(this.chunks, taskId, seq)
  }

  /** Each followed task, with the last event and the last chunk that were heard. */
  places(): readonly { readonly taskId: string; readonly event: number; readonly chunk: number }[] {
    return this.interest.tasks.map((taskId) => ({
      taskId,
      event: this.events.get(taskId) ?? 0,
      chunk: this.chunks.get(taskId) ?? 0,
    }))
  }
}

function raise(seen: Map<string, number>, taskId: string, seq: number): void {
  if (seq > (seen.get(taskId) ?? 0)) seen.set(taskId, seq)
}
