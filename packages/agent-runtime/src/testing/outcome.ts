import { inspect, isDeepStrictEqual } from 'node:util'
import type { TaskStatus } from '../api/status.ts'
import type { TestRuntime } from './test-runtime.ts'

/** How a task ended, without times and ids. */
export interface Outcome {
  readonly taskId: string
  readonly end: Readonly<Record<string, unknown>>
}

/** How every task of a test ended, in the order of their submission. */
export async function outcomesOf(test: TestRuntime): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let cursor: number | undefined
  do {
    const page = await test.runtime.list({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) })
    outcomes.push(...page.tasks.map((status) => ({ taskId: status.taskId, end: endOf(status) })))
    cursor = page.cursor
  } while (cursor !== undefined)
  return outcomes.toReversed()
}

/**
 * Leaves out repeated refusals of a child: after a crash or a wait, the parent runs again and is refused
 * again, with a new record.
 */
export function withoutRepeats(outcomes: readonly Outcome[], refused: ReadonlySet<string>): Outcome[] {
  const seen: Outcome['end'][] = []
  return outcomes.filter(({ taskId, end }) => {
    if (!refused.has(taskId)) return true
    if (seen.some((other) => isDeepStrictEqual(other, end))) return false
    seen.push(end)
    return true
  })
}

/** The first difference between two runs, in words. Undefined if they ended alike. */
export function differenceOf(actual: readonly Outcome[], expected: readonly Outcome[]): string | undefined {
  for (const [index, { taskId, end }] of actual.entries()) {
    const other = expected[index]
    if (other === undefined || isDeepStrictEqual(end, other.end)) continue
    return `task ${taskId} ended as ${inspect(end)} instead of ${inspect(other.end)}`
  }
  if (actual.length === expected.length) return undefined
  return `there are ${actual.length} tasks instead of ${expected.length}`
}

function endOf(status: TaskStatus): Readonly<Record<string, unknown>> {
  const { type, state } = status
  switch (state) {
    case 'completed':
      return { type, state, output: status.output }
    case 'failed': {
      const { name, message, code } = status.error
      return { type, state, kind: status.kind, error: { name, message, code } }
    }
    case 'canceled':
    case 'rejected':
      return { type, state, reason: status.reason }
    case 'queued':
    case 'running':
    case 'waiting':
      return { type, state }
  }
}
