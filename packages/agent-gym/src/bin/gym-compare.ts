import { endQuietlyWithoutReader } from '../cli/streams.ts'
import { compareCommand } from '../cli/compare-command.ts'

endQuietlyWithoutReader(process.stdout, process.stderr)
process.exitCode = compareCommand(process.argv.slice(2), process.env, process.cwd(), {
  out: process.stdout,
  err: process.stderr,
})
