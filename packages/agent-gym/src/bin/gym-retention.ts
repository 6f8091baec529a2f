import { retentionCommand } from '../cli/retention-command.ts'
import { Interrupted } from '../cli/run-command.ts'
import { endQuietlyWithoutReader } from '../cli/streams.ts'

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Interrupted()))
endQuietlyWithoutReader(process.stdout, process.stderr)
process.exitCode = await retentionCommand(
  process.argv.slice(2),
  process.env,
  { out: process.stdout, err: process.stderr },
  stop.signal,
)
