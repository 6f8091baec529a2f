import { createRuntime, defineSupervisor, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'
import type { Bench } from './bench.ts'
import { type Run, timed } from './pairs.ts'

/** What it costs to have all children under one supervisor instead of ten: each child fails three times. Source: `docs/supervision.md`, Many children. */
export const supervisionCost: Bench = {
  command: 'gym:supervision-cost',
  description: 'Restarts children that fail three times each, under one supervisor, and under ten, in turn.',
  what: (children) =>
    `runs of ${children} children that fail ${failures} times each, under one supervisor divided by under ${many}`,
  rates: (one, others) => `${one} restarts a second under one supervisor, ${others} under ${many}`,
  unit: 'children',
  count: 1_000,
  pairs: 5,
  leastShare: 0.25,
  run: (on, file, children) => restart(on ? 1 : many, file, children),
}

const many = 10
const failures = 3
const capacity = 100

/** From the submission of the supervisors to the end of the last; the rate is that of restarts. */
async function restart(groups: number, file: string, children: number): Promise<Run> {
  const each = Math.max(1, Math.round(children / groups))
  const failing = defineTask({ type: 'failing', input: z.undefined() }, ({ attempt }) => {
    if (attempt <= failures) throw new Error('once more')
    return attempt
  })
  const group = defineSupervisor({
    type: 'group',
    input: z.undefined(),
    // At most `capacity` of them fail at a time, so however many children there are, they are never too many in a millisecond.
    maxRestarts: 1_000,
    periodMs: 1,
    children: Object.fromEntries(
      Array.from(
        { length: each },
        (_, index) => [`child-${index}`, { task: failing, input: () => undefined }] as const,
      ),
    ),
  })
  await using runtime = await createRuntime({
    store: `sqlite:${file}`,
    tasks: [group, failing],
    config: { maxInFlightPerWorker: capacity, queueDepthLimit: 2 * children + 100 },
    workers: { count: 1, capacity },
    logger: false,
    telemetry: false,
    strict: false,
  })
  return await timed(groups * each * failures, async () => {
    const receipts = await runtime.submitMany(
      Array.from({ length: groups }, () => ({ task: group, input: undefined })),
    )
    for (const receipt of receipts) await runtime.result(receipt)
  })
}
