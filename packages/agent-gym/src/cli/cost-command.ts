import { Command } from 'commander'
import type { Bench } from '../bench/bench.ts'
import { type Cost, costOf, measurePairs, type Share } from '../bench/pairs.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { codeOf, type Console } from './run-command.ts'
import { number, parse } from './run-options.ts'

/** `gym:telemetry-cost`, `gym:step-cost`, `gym:share-cost`, `gym:partition-cost`, `gym:supervision-cost`. Answers with its exit code. */
export async function costCommand(
  bench: Bench,
  args: readonly string[],
  console: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  try {
    const options = parse(
      command(bench),
      args.filter((arg) => arg !== '--'),
    ) as Readonly<Record<string, number | undefined>>
    const { pairs = bench.pairs, [bench.unit]: count = bench.count } = options
    const living = console.out.isTTY === true
    const measured = await measurePairs(
      pairs,
      (on, file) => bench.run(on, file, count),
      signal,
      (_, done) => {
        if (living) console.out.write(`\r${done} of ${pairs} pairs`)
      },
    )
    if (living) console.out.write('\n')
    const cost = costOf(measured, bench.leastShare, bench.mostCpu)
    console.out.write(show(bench, cost, pairs, count))
    return cost.met ? exitCode.ok : exitCode.failed
  } catch (error) {
    return codeOf(error, console)
  }
}

function command(bench: Bench): Command {
  return new Command(bench.command)
    .description(bench.description)
    .option(
      '--pairs <n>',
      `how many of each (default: ${bench.pairs})`,
      number('a number of pairs', 1, 100_000, true),
    )
    .option(
      `--${bench.unit} <n>`,
      `the ${bench.unit} of a run (default: ${bench.count})`,
      number(`a number of ${bench.unit}`, 1, 1_000_000, true),
    )
    .addHelpText(
      'after',
      `\nExit codes: 0 the median rate is at least ${bench.leastShare} of that without${mostText(bench)}, 1 it is not, 2 a wrong command line, 130 interrupted.`,
    )
}

function mostText({ mostCpu }: Bench): string {
  return mostCpu === undefined ? '' : `, and the processor time at most ${mostCpu} times`
}

function show(
  { what, leastShare, mostCpu, rates }: Bench,
  { rate, cpu, perSec }: Cost,
  pairs: number,
  count: number,
): string {
  return [
    `${pairs} pairs of ${what(count)}: medians (and 95 % intervals)`,
    `  rate            ${words(rate)}, at least ${leastShare}: ${verdict(rate.median >= leastShare)}`,
    `  processor time  ${words(cpu)}${mostCpu === undefined ? '' : `, at most ${mostCpu}: ${verdict(cpu.median <= mostCpu)}`}`,
    ...(rates === undefined ? [] : [`  medians         ${rates(...perSec)}`]),
    '',
  ].join('\n')
}

function verdict(met: boolean): string {
  return met ? 'met' : 'not met'
}

function words({ median, low, high }: Share): string {
  return `${median.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`
}
