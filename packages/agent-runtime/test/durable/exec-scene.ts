import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask, type TaskContext } from '../../src/index.ts'

/** A runtime in real time whose one task type does `body`. */
export async function started(
  body: (ctx: TaskContext) => Promise<unknown>,
  config: { killGraceMs?: number; cleanupTimeoutMs?: number } = {},
) {
  const task = defineTask({ type: 'tool', input: z.null() }, (ctx) => body(ctx))
  const runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks: [task],
    thread: false,
    config,
    telemetry: false,
    logger: false,
  })
  onTestFinished(async () => {
    await runtime.stop({ drain: false })
  })
  const receipt = await runtime.submit(task, null)
  return { runtime, receipt, taskId: receipt.taskId, result: () => runtime.result(receipt) }
}

/** What ends meanwhile was not killed: TERM has ended it. */
export const onlyTerm = { killGraceMs: 600_000 }

/** A shell that has a child, and writes both their ids to a file. Both ignore TERM when `stubborn`. */
export function family(file: string, stubborn = false): string[] {
  return ['-c', `${stubborn ? "trap '' TERM; " : ''}sleep 1000 & echo $$ $! > ${file}; wait`]
}
