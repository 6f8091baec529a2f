import { Interrupted, runCommand } from '../cli/run-command.ts'
import { endQuietlyWithoutReader } from '../cli/streams.ts'
import { exitCode } from '../cli/exit-code.ts'

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // Once more means at once: hosts end by themselves when their channel closes.
    if (stop.signal.aborted) process.exit(exitCode.interrupted)
    stop.abort(new Interrupted())
  })
}
endQuietlyWithoutReader(process.stdout, process.stderr)
process.exitCode = await runCommand(
  process.argv.slice(2),
  process.env,
  process.cwd(),
  { out: process.stdout, err: process.stderr },
  stop.signal,
)
