import { Command } from 'commander'
import { racesEvidence } from '../races/evidence.ts'
import { faultsIn, figures, type RacesPlan, type RacesRun, runRaces, tooLittle } from '../races/run-races.ts'
import { currentCommit } from '../report/evidence.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { codeOf, type Console } from './run-command.ts'
import { number, parse } from './run-options.ts'

interface Flags extends Partial<RacesPlan> {
  readonly evidence?: boolean
}

/** `gym:races`. Answers with its exit code. */
export async function racesCommand(
  args: readonly string[],
  { out, err }: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  let flags: Flags
  try {
    flags = parse(
      command(),
      args.filter((arg) => arg !== '--'),
    )
  } catch (error) {
    return codeOf(error, { out, err })
  }
  const { cancels = 1_000, stops = 30, histories = 4, seed = 1, evidence = false } = flags
  try {
    const plan = { cancels, stops, histories, seed }
    // As it is now: the sources may change while it runs.
    const commit = evidence ? currentCommit() : ''
    const began = performance.now()
    const run = await runRaces(plan, (text) => err.write(`${text}\n`), signal)
    const seconds = (performance.now() - began) / 1_000
    const faults = faultsIn(run)
    const lacks = tooLittle(run)
    for (const fault of faults.slice(0, 50)) err.write(`${fault}\n`)
    for (const line of lacks) err.write(`too little happened: ${line}\n`)
    out.write(evidence ? racesEvidence(plan, run, { seconds, commit }) : show(run, seed, seconds))
    return faults.length === 0 && lacks.length === 0 ? exitCode.ok : exitCode.failed
  } catch (error) {
    // What fails once it is told to end fails of that.
    return codeOf(signal.aborted ? signal.reason : error, { out, err })
  }
}

function command(): Command {
  return new Command('gym:races')
    .description(
      'Races cancels against the ends of tasks, stops processes past their leases, and looks for an order in what several processes saw.',
    )
    .option(
      '--cancels <n>',
      'cancels against an end (default: 1000)',
      number('a number of races', 0, 1_000_000, true),
    )
    .option(
      '--stops <n>',
      'processes stopped in a step (default: 30)',
      number('a number of stops', 0, 100_000, true),
    )
    .option(
      '--histories <n>',
      'histories of a store (default: 4)',
      number('a number of histories', 0, 10_000, true),
    )
    .option('--seed <n>', 'draws the moments (default: 1)', number('a seed', 0, 2 ** 31 - 1, true))
    .option('--evidence', 'print the result as a page for docs/evidence/')
    .addHelpText(
      'after',
      '\nExit codes: 0 every rule held, 1 one was broken, or too little happened, 2 a wrong command line, 130 interrupted.',
    )
}

function show(run: RacesRun, seed: number, seconds: number): string {
  const lines = Object.entries(figures(run)).flatMap(([kind, rows]) => [
    kind,
    ...rows.map(([what, count]) => `  ${what.padEnd(80)} ${String(count).padStart(9)}`),
  ])
  return `seed ${seed}, ${seconds.toFixed(0)} s\n${lines.join('\n')}\n`
}
