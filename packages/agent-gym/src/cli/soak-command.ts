import { Command } from 'commander'
import { evidenceOf } from '../soak/evidence.ts'
import { type Leak, leaks } from '../soak/load.ts'
import type { Sample } from '../soak/sample.ts'
import { soak, type Soaked, type SoakPlan } from '../soak/soak.ts'
import { currentCommit } from '../report/evidence.ts'
import { showNumber } from '../report/numbers.ts'
import { type ExitCode, exitCode, UsageError } from './exit-code.ts'
import { codeOf, type Console } from './run-command.ts'
import { number, parse } from './run-options.ts'
import { didYouMean } from './suggest.ts'

interface Flags {
  readonly minutes?: number
  readonly tasks?: number
  readonly seed: number
  readonly plant?: string
  readonly evidence?: boolean
}

/** `pnpm soak`. Answers with its exit code. When the signal aborts it ends after the round that runs, and judges nothing. */
export async function soakCommand(
  args: readonly string[],
  console: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  let read: ReturnType<typeof readPlan>
  try {
    read = readPlan(args)
  } catch (error) {
    return codeOf(error, console)
  }
  const { evidence, ...plan } = read
  try {
    const commit = evidence ? currentCommit() : ''
    const soaked = await soak(plan, signal, (sample) => console.err.write(`${lineOf(sample)}\n`))
    console.out.write(evidence ? evidenceOf(plan, soaked, commit) : show(soaked, plan.seed))
    return isSound(soaked) ? exitCode.ok : exitCode.failed
  } catch (error) {
    // What fails once it is told to end fails of that.
    return codeOf(signal.aborted ? signal.reason : error, console)
  }
}

function readPlan(args: readonly string[]): SoakPlan & { readonly evidence: boolean } {
  const flags = parse(
    soakOptions(),
    args.filter((arg) => arg !== '--'),
  ) as Flags
  const { minutes = 0, tasks = flags.minutes === undefined ? 2_000 : 0, seed } = flags
  return {
    seed,
    tasks,
    minutes,
    leak: leakNamed(flags.plant),
    warmUp: minutes > 0 ? 2_000 : Math.min(500, tasks),
    // Ten samples at least, and not many hundred.
    round: minutes > 5 ? 1_000 : Math.max(20, Math.min(1_000, Math.floor(tasks / 10))),
    evidence: flags.evidence === true,
  }
}

function soakOptions(): Command {
  return new Command('gym:soak')
    .description(
      'Runs a mixed load on a real runtime for long, and fails when what it holds at rest grows with the tasks that are over.',
    )
    .option('--minutes <n>', 'how long at least', number('a number of minutes', 0, 10_000))
    .option(
      '--tasks <n>',
      'how many tasks at least (default: 2000, unless --minutes is given)',
      number('a number of tasks', 1, 1_000_000_000, true),
    )
    .option('--seed <n>', 'draws the load', number('a seed', 0, 2 ** 31 - 1, true), 1)
    .option('--plant <leak>', 'plant a leak, to see it found')
    .option('--evidence', 'print the result as a page for docs/evidence/')
    .addHelpText(
      'after',
      `\nLeaks to plant: ${Object.entries(leaks)
        .map(([name, what]) => `${name} (${what})`)
        .join(
          '; ',
        )}.\n\nExit codes: 0 nothing grows, 1 something does, 2 a wrong command line, 130 interrupted.`,
    )
}

function leakNamed(name: string | undefined): Leak | undefined {
  if (name === undefined || Object.hasOwn(leaks, name)) return name as Leak | undefined
  throw new UsageError(`--plant: no leak '${name}'${didYouMean(name, Object.keys(leaks))}`)
}

/** Nothing grows, and the store is what was written. */
function isSound({ figures, faults }: Soaked): boolean {
  return faults.length === 0 && figures.every(({ holds }) => holds)
}

function lineOf({ tasks, heap, rss, handles, listeners, wal }: Sample): string {
  const mb = (bytes: number) => (bytes / 1e6).toFixed(2)
  return `${tasks} tasks: heap ${mb(heap)} MB, resident ${mb(rss)} MB, ${handles} handles, ${listeners} listeners, log ${mb(wal)} MB`
}

function show({ seconds, tasks, comings, figures, faults }: Soaked, seed: number): string {
  const lines = figures.map(
    ({ what, value, unit, bar, holds }) =>
      `  ${what.padEnd(34)} ${showNumber(value)} ${unit}${bar === undefined ? '' : holds ? `, at most ${bar}: holds` : `, at most ${bar}: BROKEN`}`,
  )
  const wrong = faults.map((fault) => `  verify: ${fault}`)
  return `seed ${seed}, ${tasks} tasks in ${seconds.toFixed(0)} s, ${comings} runtimes came and went\n${[...lines, ...wrong].join('\n')}\n`
}
