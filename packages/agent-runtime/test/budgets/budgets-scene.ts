import { z } from 'zod'
import {
  type BudgetOptions,
  defineTask,
  type SubmitOptions,
  type TaskContext,
  TaskFailed,
} from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

export const spend = (ctx: TaskContext, key: string, tokens: number) =>
  ctx.step(key, (step) => {
    step.charge({ tokens })
    return key
  })

/** A runtime with a task that does what it is told, and one for children. */
export async function started(
  body: (ctx: TaskContext) => unknown,
  child: (ctx: TaskContext, tokens: number) => unknown = (ctx, tokens) => spend(ctx, 'think', tokens),
  budget?: BudgetOptions,
) {
  const ends: unknown[] = []
  const agent = defineTask({ type: 'agent', input: z.null() }, (ctx) => {
    ctx.onCleanup((reason) => void ends.push(reason))
    return body(ctx)
  })
  const helper = defineTask({ type: 'helper', input: z.number(), ...(budget && { budget }) }, child)
  const virtual = await virtualRuntime({ tasks: [agent, helper] })
  const submit = async (options: SubmitOptions = {}) =>
    (await virtual.runtime.submit(agent, null, options)).taskId
  return { ...virtual, agent, helper, submit, ends }
}

export async function failure(result: Promise<unknown>): Promise<TaskFailed> {
  const error: unknown = await result.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof TaskFailed)) throw new Error(`it did not fail but gave ${String(error)}`)
  return error
}
