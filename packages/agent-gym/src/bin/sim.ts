import { simCommand } from '../cli/sim-command.ts'
import { endQuietlyWithoutReader } from '../cli/streams.ts'

endQuietlyWithoutReader(process.stdout, process.stderr)
process.exitCode = await simCommand(process.argv.slice(2), { out: process.stdout, err: process.stderr })
