import { Command } from 'commander'
import { measureStreams, streamBars, type StreamFigures } from '../bench/stream-bars.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { codeOf, type Console } from './run-command.ts'
import { number, parse } from './run-options.ts'

/** `gym:stream-bars`. Answers with its exit code. */
export async function streamCommand(
  args: readonly string[],
  console: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  try {
    const options = parse(
      command(),
      args.filter((arg) => arg !== '--'),
    ) as { readonly events?: number; readonly rounds?: number }
    const { events = 50_000, rounds = 21 } = options
    const lines = linesOf(await measureStreams(events, rounds, signal))
    console.out.write(lines.map(({ text, met }) => `${text}: ${met ? 'met' : 'not met'}\n`).join(''))
    return lines.every(({ met }) => met) ? exitCode.ok : exitCode.failed
  } catch (error) {
    return codeOf(error, console)
  }
}

function command(): Command {
  return new Command('gym:stream-bars')
    .description(
      'Streams events through three stages in one process: how many in a second, in how much memory, and how soon a stage begins.',
    )
    .option('--events <n>', 'events (default: 50 000)', number('a number of events', 5, 10_000_000, true))
    .option(
      '--rounds <n>',
      'how often the first event is timed (default: 21)',
      number('a number of rounds', 1, 10_000, true),
    )
    .addHelpText(
      'after',
      '\nExit codes: 0 all bars were met, 1 one was not, 2 a wrong command line, 130 interrupted.',
    )
}

function linesOf(it: StreamFigures): readonly { readonly text: string; readonly met: boolean }[] {
  const growth = it.allMb / it.fifthMb
  const start = (what: string, ms: number) => ({
    text: `a stage that ${what} had the first event after ${ms.toFixed(1)} ms, at most ${streamBars.startMs}`,
    met: ms <= streamBars.startMs,
  })
  return [
    {
      text: `${Math.round(it.perSec)} events a second, at least ${streamBars.perSec}`,
      met: it.perSec >= streamBars.perSec,
    },
    {
      text: `${Math.round(it.fifthMb)} MB with a fifth of the events, ${Math.round(it.allMb)} MB with all, at most ${streamBars.growth} times as much`,
      met: growth <= streamBars.growth,
    },
    start('held its slot', it.readyMs),
    start('waited without a slot', it.waitingMs),
  ]
}
