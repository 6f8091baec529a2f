import { Interrupted } from '../cli/run-command.ts'
import { streamCommand } from '../cli/stream-command.ts'
import { endQuietlyWithoutReader } from '../cli/streams.ts'

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Interrupted()))
endQuietlyWithoutReader(process.stdout, process.stderr)
process.exitCode = await streamCommand(
  process.argv.slice(2),
  { out: process.stdout, err: process.stderr },
  stop.signal,
)
