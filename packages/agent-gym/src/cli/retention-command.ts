import { Command } from 'commander'
import { loadavg } from 'node:os'
import { openStorePlace } from '../place/store-place.ts'
import { retained, type Retained, type Sample } from '../retention/retained.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { codeOf, type Console } from './run-command.ts'
import { number, parse, storeChoice, storeOf } from './run-options.ts'

interface Flags {
  readonly tasks: number
  readonly kept: number
  readonly samples: number
  readonly store: string
  readonly json: boolean
}

/** A store that keeps few tasks is at the end at most so many times as large as after a sixth of those that went through. */
const mostGrowth = 1.3

/** `pnpm retention`. Answers with its exit code. When the signal aborts it ends after the sample that is being taken. */
export async function retentionCommand(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  console: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  try {
    const flags = parse(
      command(),
      args.filter((arg) => arg !== '--'),
    ) as Flags
    signal.throwIfAborted()
    const { store, server } = storeOf(flags.store, env)
    const place = await openStorePlace(store, server)
    try {
      const found = await retained(flags, place, signal, (sample) => console.err.write(`${lineOf(sample)}\n`))
      console.out.write(flags.json ? `${JSON.stringify(found, undefined, 2)}\n` : show(found, flags))
      return found.growth > mostGrowth || found.faults > 0 ? exitCode.failed : exitCode.ok
    } finally {
      await place.close()
    }
  } catch (error) {
    return codeOf(error, console)
  }
}

function command(): Command {
  return new Command('gym:retention')
    .description(
      'Runs tasks through a store that keeps few of them, and shows how large the store is on the way: it must not grow with the tasks that have gone.',
    )
    .option(
      '--tasks <n>',
      'how many go through',
      number('a number of tasks', 1, 1_000_000_000, true),
      3_000_000,
    )
    .option('--kept <n>', 'how many are kept', number('a number of tasks', 0, 1_000_000_000, true), 100_000)
    .option(
      '--samples <n>',
      'how often the size is read: 6 times or more, since the end is compared with the size after a sixth of the tasks',
      number('a number of samples', 6, 10_000, true),
      30,
    )
    .option(
      '--store <kind>',
      'sqlite, postgres, or the URL of a PostgreSQL server',
      (given: string) => storeChoice(given, ['sqlite', 'postgres']),
      'sqlite',
    )
    .option('--json', 'print each sample as JSON', false)
    .addHelpText(
      'after',
      `\nExit codes: 0 the store did not grow, 1 it is more than ${mostGrowth} times as large as after a sixth of the tasks, or verify found a fault, 2 a wrong command line, 130 interrupted.`,
    )
}

function lineOf({ ended, left, bytes, deadRows, worst, seconds }: Sample): string {
  const dead = deadRows === undefined ? '' : `, ${deadRows} dead rows (${worst})`
  return `${ended} tasks in ${seconds.toFixed(0)} s, ${left} left, ${(bytes / 1e6).toFixed(1)} MB${dead}, load ${loadavg()[0]?.toFixed(1)}`
}

function show({ growth, cpuSeconds, faults, verifiedTasks }: Retained, { tasks, kept }: Flags): string {
  return `${tasks} tasks, ${kept} kept: ${growth.toFixed(2)} times the size after a sixth, ${cpuSeconds.toFixed(0)} s of processor time, ${faults} faults in ${verifiedTasks} tasks\n`
}
