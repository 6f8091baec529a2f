import { simCommand } from '../cli/sim-command.ts'
import { stoppedBySignals } from '../cli/stopped-by-signals.ts'
import { endQuietlyWithoutReader } from '../cli/streams.ts'

const stop = stoppedBySignals()
endQuietlyWithoutReader(process.stdout, process.stderr)
process.exitCode = await simCommand(process.argv.slice(2), { out: process.stdout, err: process.stderr }, stop)
