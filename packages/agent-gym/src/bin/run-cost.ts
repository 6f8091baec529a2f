import type { Bench } from '../bench/bench.ts'
import { costCommand } from '../cli/cost-command.ts'
import { Interrupted } from '../cli/run-command.ts'
import { stoppedBySignals } from '../cli/stopped-by-signals.ts'
import { endQuietlyWithoutReader } from '../cli/streams.ts'

/** The process of a command that measures a cost. */
export async function runCost(bench: Bench): Promise<void> {
  const stop = stoppedBySignals(new Interrupted())
  endQuietlyWithoutReader(process.stdout, process.stderr)
  process.exitCode = await costCommand(
    bench,
    process.argv.slice(2),
    { out: process.stdout, err: process.stderr },
    stop,
  )
}
