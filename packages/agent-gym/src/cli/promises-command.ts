import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { promisesEvidence } from '../promises/evidence.ts'
import { barOf, holds, type Measured, missesIn } from '../promises/figures.ts'
import { type PromisesPlan, runPromises } from '../promises/run-promises.ts'
import { currentCommit } from '../report/evidence.ts'
import { showValue } from '../report/numbers.ts'
import { type ExitCode, exitCode, UsageError } from './exit-code.ts'
import { codeOf, type Console } from './run-command.ts'
import { collect, number, parse } from './run-options.ts'

interface Flags extends Omit<PromisesPlan, 'nodes'> {
  readonly node?: readonly string[]
  readonly evidence?: boolean
}

/** `pnpm promises`. Answers with its exit code. */
export async function promisesCommand(
  args: readonly string[],
  { out, err }: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  let read: ReturnType<typeof readPlan>
  try {
    read = readPlan(args)
  } catch (error) {
    return codeOf(error, { out, err })
  }
  const { evidence = false, ...plan } = read
  try {
    // As it is now: the sources may change while it runs.
    const commit = evidence ? currentCommit() : ''
    const began = performance.now()
    const measured = await runPromises(plan, (text) => err.write(`${text}\n`), signal)
    const seconds = (performance.now() - began) / 1_000
    const misses = missesIn(measured)
    for (const miss of misses.slice(0, 50)) err.write(`missed: ${miss}\n`)
    out.write(
      evidence ? promisesEvidence(plan, measured, { seconds, commit }) : show(measured, plan, seconds),
    )
    return misses.length === 0 ? exitCode.ok : exitCode.failed
  } catch (error) {
    // What fails once it is told to end fails of that.
    return codeOf(signal.aborted ? signal.reason : error, { out, err })
  }
}

function readPlan(args: readonly string[]): PromisesPlan & { readonly evidence?: boolean } {
  const { node: nodes = [], ...flags } = parse(
    command(),
    args.filter((arg) => arg !== '--'),
  ) as Flags
  for (const node of nodes) if (!existsSync(node)) throw new UsageError(`--node: no such file: ${node}`)
  return { ...flags, nodes }
}

function command(): Command {
  const times = (flag: string, what: string, byDefault: number) =>
    [`${flag} <n>`, what, number('a number', 0, 100_000, true), byDefault] as const
  return new Command('gym:promises')
    .description(
      'Measures the promises that name a figure, on real processes and real files, and fails when one is not reached. 0 leaves one out.',
    )
    .option(...times('--restarts', 'R5: processes killed and started again', 1))
    .option(
      '--in-flight <n>',
      'R5: tasks in flight at a kill',
      number('a number of tasks', 1, 1_000, true),
      1_000,
    )
    .option(...times('--stops', 'R5: processes stopped past their leases, with ten tasks each', 2))
    .option(
      '--ttl <ms>',
      'R5: the length of those leases (those of the runtime: 30000)',
      number('a length of leases', 600, 600_000, true),
      3_000,
    )
    .option(...times('--orders', 'R6: runs of the same tasks, on each Node', 3))
    .option('--tasks <n>', 'R6: tasks in each', number('a number of tasks', 1, 500, true), 100)
    .option('--node <path>', 'R6: another Node to run them on, too; may be repeated', collect)
    .option(...times('--bursts', 'R7: times that fifty submitters fill a queue', 2))
    .option(...times('--cancels', 'R8: times that seventy running tasks with tools are canceled', 1))
    .option(...times('--reconnects', 'R9: times that a reader of events leaves and comes back', 100))
    .option(...times('--edits', 'R9: events edited, one at a time', 100))
    .option('--seed <n>', 'draws the moments', number('a seed', 0, 2 ** 31 - 1, true), 1)
    .option('--evidence', 'print the result as a page for docs/evidence/')
    .addHelpText(
      'after',
      '\nExit codes: 0 every bar was reached, 1 one was not, 2 a wrong command line, 130 interrupted.',
    )
}

function show(measured: readonly Measured[], { seed }: PromisesPlan, seconds: number): string {
  const lines = measured.flatMap(({ promise, figures }) => [
    promise,
    ...figures.map((figure) => {
      const bar = barOf(figure)
      const verdict = bar === '' ? '' : `, the bar is ${bar}: ${holds(figure) ? 'holds' : 'MISSED'}`
      return `  ${figure.what}: ${showValue(figure.value, figure.unit)}${verdict}`
    }),
  ])
  return `seed ${seed}, ${seconds.toFixed(0)} s\n${lines.join('\n')}\n`
}
