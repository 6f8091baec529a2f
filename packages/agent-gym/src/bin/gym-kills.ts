import { killsCommand } from '../cli/kills-command.ts'
import { Interrupted } from '../cli/run-command.ts'
import { stoppedBySignals } from '../cli/stopped-by-signals.ts'
import { endQuietlyWithoutReader } from '../cli/streams.ts'

const stop = stoppedBySignals(new Interrupted())
endQuietlyWithoutReader(process.stdout, process.stderr)
process.exitCode = await killsCommand(
  process.argv.slice(2),
  { out: process.stdout, err: process.stderr },
  stop,
)
