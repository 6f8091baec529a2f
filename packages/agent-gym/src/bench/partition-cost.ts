import type { Bench } from './bench.ts'
import { type Run, timed } from './pairs.ts'
import { passLine, runtimeFor, stream } from './pass-line.ts'

/** What it costs to have a stage of four partitions where one task would do: they only pass events on. Source: `docs/semantics.md 13.2`. */
export const partitionCost: Bench = {
  command: 'gym:partition-cost',
  description:
    'Sends events through a stage of four partitions, and of one task, in turn; the stage only passes them on.',
  what: (events) => `pipelines of ${events} events, through ${many} partitions divided by through one task`,
  unit: 'events',
  count: 30_000,
  pairs: 10,
  leastShare: 0.7,
  mostCpu: 1.3,
  run: (on, file, events) => run(on ? many : 1, file, events),
}

const many = 4

async function run(partitions: number, file: string, events: number): Promise<Run> {
  const pipeline = passLine(partitions)
  await using runtime = await runtimeFor(pipeline, file)
  return await timed(events, () => stream(runtime, pipeline, events))
}
