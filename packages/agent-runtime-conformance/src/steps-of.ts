import type { ExecutionStore, Reads, StepRecord } from '@ku0/agent-runtime-core'

/** All recorded steps of a task that count. `limit`: the most that one page may hold. */
export async function stepsOf(
  store: Pick<ExecutionStore, 'read'>,
  taskId: string,
  limit = 1_000,
): Promise<readonly StepRecord[]> {
  const steps: StepRecord[] = []
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: Reads['steps']['answer'] = await store.read({ kind: 'steps', taskId, after, limit })
    steps.push(...page.steps)
    after = page.cursor
  }
  return steps
}
