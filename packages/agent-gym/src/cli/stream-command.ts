import { Command } from 'commander'
import { measureStreams, streamBars, type StreamFigures } from '../bench/stream-bars.ts'
import { circumstances, currentCommit, table } from '../report/evidence.ts'
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
    ) as { readonly events?: number; readonly rounds?: number; readonly evidence?: boolean }
    const { events = 50_000, rounds = 21, evidence = false } = options
    // As it is now: the sources may change while it runs.
    const commit = evidence ? currentCommit() : ''
    const began = performance.now()
    const lines = linesOf(await measureStreams(events, rounds, signal))
    const seconds = (performance.now() - began) / 1_000
    console.out.write(
      evidence
        ? pageOf(lines, { events, rounds, commit, seconds })
        : lines.map((line) => `${line.text}: ${verdictOf(line)}\n`).join(''),
    )
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
    .option('--evidence', 'print the result as a page for docs/evidence/')
    .addHelpText(
      'after',
      '\nExit codes: 0 all bars were met, 1 one was not, 2 a wrong command line, 130 interrupted.',
    )
}

interface Line {
  readonly text: string
  readonly met: boolean
}

function verdictOf({ met }: Line): string {
  return met ? 'met' : 'not met'
}

/** What was run, on what, and what came of it. */
function pageOf(
  lines: readonly Line[],
  run: {
    readonly events: number
    readonly rounds: number
    readonly commit: string
    readonly seconds: number
  },
): string {
  const flags = `--events ${run.events} --rounds ${run.rounds}`
  return [
    '# Evidence: pipelines',
    '',
    'The last run of `pnpm --filter @ku0/agent-gym gym:stream-bars --evidence`; what it does: [pipelines](../pipelines.md#how-fast-it-is).',
    '',
    ...table(
      ['', ''],
      [
        ['command', `\`pnpm --filter @ku0/agent-gym gym:stream-bars ${flags} --evidence\``],
        ...circumstances(run),
      ],
    ),
    '',
    ...table(
      ['what', 'bar'],
      lines.map((line) => [line.text, verdictOf(line)]),
    ),
    '',
  ].join('\n')
}

function linesOf(it: StreamFigures): readonly Line[] {
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
