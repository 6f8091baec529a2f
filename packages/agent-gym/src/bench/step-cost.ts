import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { type Claim } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { z } from 'zod'
import type { Bench } from './bench.ts'
import { type Run, timed } from './pairs.ts'

/** What `ctx.step` costs beside the write that it makes: twenty tasks record steps, one after the other each. */
export const stepCost: Bench = {
  command: 'gym:step-cost',
  description:
    'Twenty tasks record steps side by side, with `ctx.step` and by writing to the store directly, in turn.',
  what: (steps) => `runs of ${steps} steps in ${tasks} tasks, with ctx.step divided by plain writes`,
  unit: 'steps',
  count: 8000,
  pairs: 50,
  leastShare: 0.8,
  run: (on, file, steps) => (on ? throughHandlers : throughStore)(file, Math.ceil(steps / tasks)),
}

const tasks = 20
const settings = { maxInFlightPerWorker: tasks }

async function throughHandlers(file: string, each: number): Promise<Run> {
  const ready = Promise.withResolvers<void>()
  const start = Promise.withResolvers<void>()
  let begun = 0
  const walker = defineTask({ type: 'walker', input: z.null() }, async (ctx) => {
    begun += 1
    if (begun === tasks) ready.resolve()
    await start.promise
    for (let step = 0; step < each; step += 1) await ctx.step(`step-${step}`, () => step)
    return null
  })
  await using runtime = await createRuntime({
    strict: false,
    store: `sqlite:${file}`,
    tasks: [walker],
    config: settings,
    workers: { count: 1, capacity: tasks },
    onFailure: ready.reject,
  })
  const receipts = await runtime.submitMany(
    Array.from({ length: tasks }, () => ({ task: walker, input: null })),
  )
  await ready.promise
  return timed(each * tasks, () => {
    start.resolve()
    return Promise.all(receipts.map((receipt) => runtime.result(receipt)))
  })
}

async function throughStore(file: string, each: number): Promise<Run> {
  const store = await openStore(`sqlite:${file}`, { config: parseExecutionConfig(settings).config })
  try {
    const claims: Claim[] = []
    const ready = Promise.withResolvers<void>()
    using _ = store.listen({
      claimed: (more) => {
        claims.push(...more)
        if (claims.length === tasks) ready.resolve()
      },
      failed: ready.reject,
    })
    await store.write({
      kind: 'registerWorkers',
      workers: [{ workerId: 'w', capacity: tasks, types: ['*'] }],
    })
    store.demand('w', tasks)
    const submission = { type: 'walker', lane: 'normal', input: 'null' } as const
    await store.write({ kind: 'submit', tasks: Array.from({ length: tasks }, () => submission) })
    await ready.promise
    const walk = async ({ leaseId }: Claim) => {
      for (let step = 0; step < each; step += 1)
        await store.write({
          kind: 'recordStep',
          leaseId,
          key: `step-${step}`,
          position: step,
          durationMs: 0.001,
          result: String(step),
        })
      await store.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } })
    }
    return await timed(each * tasks, () => Promise.all(claims.map(walk)))
  } finally {
    await store.close()
  }
}
