import { createHash } from 'node:crypto'
import { defineTask, type TaskContext, type TaskDefinition } from '@ku0/agent-runtime'
import { z } from 'zod'
import type { Ledger } from '../work/ledger.ts'

/** What a task of a life is to do. */
const Work = z.object({ n: z.int() })

/** The steps of a task, and of its child. */
export const stepKeys = ['one', 'two', 'three'] as const

/** Task types whose every step is witnessed: some wait for a timer, some for a child, as their number says. */
export function killTasks(ledger: Ledger): {
  readonly parent: TaskDefinition
  readonly all: TaskDefinition[]
} {
  const steps = async (ctx: TaskContext, n: number, napAfter: number) => {
    let hash = String(n)
    for (const [at, key] of stepKeys.entries()) {
      hash = await ctx.step(key, async (step) => {
        const { taskId, attempt, fencingToken } = ctx
        await ledger.witness({
          taskId,
          stepKey: key,
          attempt,
          fencingToken,
          idempotencyKey: step.idempotencyKey,
        })
        return createHash('sha256').update(`${hash}/${key}`).digest('hex')
      })
      if (at === napAfter) await ctx.sleep('nap', 1 + (n % 20))
    }
    return hash
  }
  const child = defineTask({ type: 'child', input: Work }, (ctx, { n }) => steps(ctx, n, -1))
  const parent = defineTask({ type: 'parent', input: Work }, async (ctx, { n }) => {
    const own = await steps(ctx, n, n % 4 === 0 ? n % 3 : -1)
    return n % 9 === 0 ? `${own}/${await ctx.call('child', child, { n: n + 1 })}` : own
  })
  return { parent, all: [parent, child] }
}

/** What a task of this number returns. */
export function expectedOutput(n: number): string {
  const own = stepKeys.reduce(
    (hash, key) => createHash('sha256').update(`${hash}/${key}`).digest('hex'),
    String(n),
  )
  return n % 9 === 0 ? `${own}/${expectedChild(n + 1)}` : own
}

function expectedChild(n: number): string {
  return stepKeys.reduce(
    (hash, key) => createHash('sha256').update(`${hash}/${key}`).digest('hex'),
    String(n),
  )
}
