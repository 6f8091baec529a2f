import { Command } from 'commander'
import { type Cost, costOf, leastShare, measurePairs, type Share } from '../bench/telemetry-cost.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { codeOf, type Console } from './run-command.ts'
import { number, parse } from './run-options.ts'

const defaults = { pairs: 200, tasks: 2000 } as const

/** `gym:telemetry-cost`. Answers with its exit code. */
export async function telemetryCostCommand(
  args: readonly string[],
  console: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  try {
    const { pairs = defaults.pairs, tasks = defaults.tasks } = parse(
      command(),
      args.filter((arg) => arg !== '--'),
    ) as { pairs?: number; tasks?: number }
    const living = console.out.isTTY === true
    const measured = await measurePairs(pairs, tasks, signal, (_, done) => {
      if (living) console.out.write(`\r${done} of ${pairs} pairs`)
    })
    if (living) console.out.write('\n')
    const cost = costOf(measured)
    console.out.write(show(cost, pairs, tasks))
    return cost.met ? exitCode.ok : exitCode.failed
  } catch (error) {
    return codeOf(error, console)
  }
}

function command(): Command {
  return new Command('gym:telemetry-cost')
    .description(
      'Drains tasks with telemetry and with `telemetry: false` in turn, while no OpenTelemetry SDK is registered.',
    )
    .option(
      '--pairs <n>',
      `how many of each (default: ${defaults.pairs})`,
      number('a number of pairs', 1, 100_000, true),
    )
    .option(
      '--tasks <n>',
      `the tasks of a drain (default: ${defaults.tasks})`,
      number('a number of tasks', 1, 1_000_000, true),
    )
    .addHelpText(
      'after',
      `\nExit codes: 0 the median rate is at least ${leastShare} of that without, 1 it is not, 2 a wrong command line.`,
    )
}

function show({ rate, cpu, met }: Cost, pairs: number, tasks: number): string {
  return [
    `${pairs} pairs of drains of ${tasks} tasks, with telemetry divided by without: medians (and 95 % intervals)`,
    `  rate            ${words(rate)}, at least ${leastShare}: ${met ? 'met' : 'not met'}`,
    `  processor time  ${words(cpu)}`,
    '',
  ].join('\n')
}

function words({ median, low, high }: Share): string {
  return `${median.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`
}
