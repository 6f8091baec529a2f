import { simCommand } from '../cli/sim-command.ts'
import { endQuietlyWithoutReader } from '../cli/streams.ts'

const stop = new AbortController()
// A terminal tells the whole group, and a package manager hands it on: a second signal says nothing new, and must not end what is yet to be kept.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())
endQuietlyWithoutReader(process.stdout, process.stderr)
process.exitCode = await simCommand(
  process.argv.slice(2),
  { out: process.stdout, err: process.stderr },
  stop.signal,
)
