import type { ChildRecord, ExecutionStore, OpenWait, StepRecord, WaitRecord } from '@ku0/agent-runtime-core'

/** What earlier passes left behind for a pass to go through the handler with. */
export interface Memos {
  readonly steps: ReadonlyMap<string, StepRecord>
  readonly waits: ReadonlyMap<string, WaitRecord>
  /** Waits that began and have not ended. The pass takes out those that do. */
  readonly open: Map<string, OpenWait>
  /** The pass takes out those that are given up. */
  readonly children: Map<string, ChildRecord>
}

/** Of a task that is gone through for the first time. */
export const noMemos: Memos = { steps: new Map(), waits: new Map(), open: new Map(), children: new Map() }

export async function readMemos(store: ExecutionStore, taskId: string): Promise<Memos> {
  const { steps, waits, open, children } = await store.read({ kind: 'memos', taskId })
  return { steps: byKey(steps), waits: byKey(waits), open: byKey(open), children: byKey(children) }
}

function byKey<T extends { readonly key: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.key, item]))
}
