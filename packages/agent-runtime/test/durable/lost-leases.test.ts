import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { draws } from '../../../../tools/draws.ts'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { all, virtualRuntime } from '../virtual-runtime.ts'

/** A random handler: steps one after the other, in loops, in branches that all count or of which one wins, and sleeps. */
type Program =
  | { readonly as: 'step' | 'sleep' | 'throws' }
  | { readonly as: 'row' | 'all' | 'race'; readonly of: readonly Program[] }

const { program } = fc.letrec<{ program: Program }>((tie) => ({
  program: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc
      .constantFrom('step' as const, 'step' as const, 'sleep' as const, 'throws' as const)
      .map((as) => ({ as })),
    fc.record({
      as: fc.constantFrom('row' as const, 'all' as const, 'race' as const),
      of: fc.array(tie('program'), { minLength: 1, maxLength: 4 }),
    }),
  ),
}))

/** Runs a program; `step` is called by every function of a step. The first branch of a race wins: the others wait for days. */
async function perform(
  ctx: TaskContext,
  it: Program,
  at: string,
  step: (key: string) => unknown,
): Promise<unknown> {
  const branches = (of: readonly Program[], late: number) =>
    Object.fromEntries(
      of.map((inner, n) => [
        `b${n}`,
        async (branch: TaskContext) => {
          if (n >= late) await branch.sleep(`${at}.${n} late`, 1e9)
          return perform(branch, inner, `${at}.${n}`, step)
        },
      ]),
    )
  switch (it.as) {
    case 'step':
      return ctx.step(at, () => step(at))
    case 'sleep':
      return ctx.sleep(at, 100)
    case 'throws':
      return ctx
        .step(at, async () => {
          await step(at)
          throw new Error(at)
        })
        .catch((error: Error) => error.message)
    case 'row': {
      const results: unknown[] = []
      for (const [n, inner] of it.of.entries()) results.push(await perform(ctx, inner, `${at}.${n}`, step))
      return results
    }
    case 'all':
      return ctx.all(at, branches(it.of, it.of.length))
    case 'race':
      return ctx.race(at, branches(it.of, 1))
  }
}

/** Plays it in memory. The k-th run of a function never ends, and its lease is lost; 0: none. */
async function play(it: Program, k: number) {
  const runs: string[] = []
  const task = defineTask({ type: 'program', input: z.null() }, (ctx) =>
    perform(ctx, { as: 'row', of: [it] }, 'p', (key) => {
      runs.push(key)
      return runs.length === k ? new Promise(() => {}) : `${key} done`
    }),
  )
  const virtual = await virtualRuntime({ tasks: [task] })
  const { taskId } = await virtual.runtime.submit(task, null)
  let isLost = k === 0
  for (let round = 0; round < 1_000; round += 1) {
    await virtual.elapse(50)
    if (!isLost && runs.length >= k) {
      isLost = true
      await virtual.block(31_000)
    }
    const status = await virtual.runtime.status(taskId)
    if (status?.state === 'completed') {
      const events = await all(virtual.runtime.events(taskId))
      const cut = events.find(({ type }) => type === 'task.requeued')?.seq ?? 0
      const before = events.filter(({ type, seq }) => type === 'step.completed' && seq < cut)
      const recorded = before.map(({ data }) => (data as { readonly key: string }).key)
      return { output: status.output, attempt: status.attempt, runs, recorded }
    }
  }
  throw new Error(`it does not end: ${JSON.stringify(it)}, ${k}`)
}

test('Corollary 12 in memory: a lease that is lost in any run of a function changes no end, and no recorded step runs again', async () => {
  let lost = 0
  let kept = 0
  const everywhere = async (it: Program) => {
    const whole = await play(it, 0)
    for (let k = 1; k <= whole.runs.length; k += 1) {
      const cut = await play(it, k)
      expect([cut.output, cut.attempt]).toEqual([whole.output, 2])
      for (const key of cut.recorded) expect(cut.runs.filter((run) => run === key).length).toBeLessThan(2)
      kept += cut.recorded.length
      lost += 1
    }
  }
  await fc.assert(fc.asyncProperty(program, everywhere), { numRuns: draws(6, 20, 150), seed: 12 })
  expect(Math.min(lost, kept)).toBeGreaterThan(draws(2, 6, 50))
})
