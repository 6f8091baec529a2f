import { existsSync, statSync } from 'node:fs'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { difficulties, type Difficulty } from '../scenario/scenario.ts'
import { exitCode, UsageError } from './exit-code.ts'
import { type StoreKind, storeKinds } from '../place/store-place.ts'
import { pathBases, resolvePath, workspaceRoot } from './paths.ts'
import { didYouMean } from './suggest.ts'

/** What `gym:run` was asked to do; paths are absolute. */
export interface RunOptions {
  readonly suite: Difficulty | 'all'
  readonly categories: readonly string[]
  readonly benchmarks: string
  readonly report: string
  readonly baseline: string | undefined
  readonly minScore: number | undefined
  readonly json: boolean
  /** Print the page of evidence in place of the table. */
  readonly evidence: boolean
  /** The file of kept results that these are added to. */
  readonly keep: string | undefined
  readonly only: readonly string[]
  readonly seed: number
  /** So many processes that work, at least. */
  readonly processes: number
  readonly store: StoreKind
  /** The URL of the PostgreSQL server to use. Without it the gym starts one. */
  readonly server: string | undefined
  readonly trace: string | undefined
  readonly speedup: number
  /** A trace was given and nothing else chosen: replay it alone. */
  readonly traceAlone: boolean
}

/** The help text was asked for and printed. */
export class HelpShown extends Error {}

/** Track AA's command, for whoever calls the gym without flags. Paths are relative to the workspace. */
export const defaults = {
  suite: 'easy',
  category: 'execution-scale',
  benchmarks: 'packages/agent-gym/benchmarks/q4',
  report: 'packages/agent-gym/reports/q4-execution-scale.json',
  seed: 1,
  speedup: 60,
} as const

const suites = [...difficulties, 'all'] as const

/** Reads the command line. Throws {@link UsageError} with a suggestion, or {@link HelpShown}. */
export function readRunOptions(args: readonly string[], env: NodeJS.ProcessEnv, cwd: string): RunOptions {
  // pnpm hands a literal `--` through to the script.
  const flags = parse(
    runCommand(),
    args.filter((arg) => arg !== '--'),
  ) as Flags
  if (flags.speedup !== undefined && flags.trace === undefined)
    throw new UsageError('--speedup: needs --trace FILE')
  if (flags.evidence === true && flags.json === true)
    throw new UsageError('--evidence and --json: choose what is printed on standard output')
  const bases = pathBases(env, cwd)
  const inputFile = (flag: string, path: string) => {
    const found = resolvePath(path, bases)
    if (!existsSync(found)) throw new UsageError(`--${flag}: no such file: ${found}`)
    // A pipe would be empty for the processes of the scenario, which read it again.
    if (!statSync(found).isFile()) throw new UsageError(`--${flag}: ${found} is no regular file`)
    return found
  }
  const root = workspaceRoot(import.meta.dirname) ?? cwd
  const byDefault = (path: string) => resolvePath(path, [root])
  const chosen = flags.suite !== undefined || flags.category !== undefined || flags.only !== undefined
  const only = flags.only ?? []
  return {
    // An id names one scenario, whatever its suite.
    suite: flags.suite ?? (only.length > 0 ? 'all' : defaults.suite),
    categories: flags.category ?? (only.length > 0 ? [] : [defaults.category]),
    benchmarks:
      flags.benchmarks === undefined ? byDefault(defaults.benchmarks) : resolvePath(flags.benchmarks, bases),
    report: flags.report === undefined ? byDefault(defaults.report) : resolvePath(flags.report, bases),
    baseline: flags.baseline === undefined ? undefined : inputFile('baseline', flags.baseline),
    minScore: flags.minScore,
    json: flags.json === true,
    evidence: flags.evidence === true,
    keep: flags.keep === undefined ? undefined : resolvePath(flags.keep, bases),
    only,
    seed: flags.seed ?? defaults.seed,
    processes: flags.processes ?? 1,
    ...storeOf(flags.store ?? 'sqlite', env),
    trace: flags.trace === undefined ? undefined : inputFile('trace', flags.trace),
    speedup: flags.speedup ?? defaults.speedup,
    traceAlone: flags.trace !== undefined && !chosen,
  }
}

interface Flags {
  readonly suite?: Difficulty | 'all'
  readonly category?: string[]
  readonly benchmarks?: string
  readonly report?: string
  readonly baseline?: string
  readonly minScore?: number
  readonly json?: boolean
  readonly evidence?: boolean
  readonly keep?: string
  readonly only?: string[]
  readonly seed?: number
  readonly processes?: number
  readonly store?: string
  readonly trace?: string
  readonly speedup?: number
}

function runCommand(): Command {
  return new Command('gym:run')
    .description('Measures the runtime on real work in real processes, and writes a report.')
    .addOption(
      choice('--suite <name>', `how hard: ${suites.join(', ')} (default: ${defaults.suite})`, suites),
    )
    .option('--category <name>', `a category; may be repeated (default: ${defaults.category})`, collect)
    .option('--benchmarks <dir>', `the folder of scenario files (default: ${defaults.benchmarks})`)
    .option(
      '--report <file>',
      `where the JSON report goes; .html and .junit.xml beside it (default: ${defaults.report})`,
    )
    .option('--baseline <file>', 'a report whose score must be reached')
    .option('--min-score <n>', 'the least score, 0 to 100', number('a score', 0, 100))
    .option('--json', 'print the report on standard output instead of the table')
    .option('--evidence', 'print the result as a page for docs/evidence/ instead of the table')
    .option('--keep <file>', 'put the result beside those in this file; the page is of all of them then')
    .option('--only <id>', 'a scenario; may be repeated', collect)
    .option(
      '--seed <n>',
      `what chance is drawn from (default: ${defaults.seed})`,
      number('a seed', 0, 2 ** 31 - 1, true),
    )
    .option(
      '--store <kind>',
      `${storeKinds.join(', ')}, or the URL of a PostgreSQL server (default: sqlite)`,
      (given: string) => storeChoice(given),
    )
    .option(
      '--processes <n>',
      'how many processes work in each scenario, at least (default: as many as it says)',
      number('a number of processes', 1, 100, true),
    )
    .option('--trace <file>', 'replay a CSV of arrivals: TIMESTAMP,ContextTokens,GeneratedTokens')
    .option(
      '--speedup <n>',
      `how much faster than life (default: ${defaults.speedup})`,
      number('a speed-up', 0.001, 1_000_000),
    )
    .addHelpText('after', exitCodes)
}

const exitCodes = `
Exit codes: ${exitCode.ok} all passed, ${exitCode.failed} a scenario failed, none was found, the score is too low or the report was lost,
${exitCode.usage} a wrong command line or file, or no place for the report, ${exitCode.interrupted} interrupted.

Relative paths are looked for from where the command was typed, then from the working folder, then from the workspace.
`

/** Parses with commander, whose complaints become one line; it suggests flags itself. */
export function parse(command: Command, args: readonly string[]): object {
  let complaint = ''
  command
    .exitOverride()
    .allowExcessArguments(false)
    .configureOutput({ writeErr: (text) => (complaint += text) })
  try {
    return command.parse(args, { from: 'user' }).opts()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.code === 'commander.helpDisplayed' || error.code === 'commander.help') throw new HelpShown()
    throw new UsageError(`${(complaint || error.message).trim().replace(/^error: /, '')}\nSee --help.`, {
      cause: error,
    })
  }
}

function choice(flags: string, description: string, choices: readonly string[]): Option {
  return new Option(flags, description).argParser((given: string) => oneOf(given, choices))
}

function oneOf(given: string, choices: readonly string[]): string {
  if (choices.includes(given)) return given
  throw new InvalidArgumentError(`There are ${choices.join(', ')}${didYouMean(given, choices)}`)
}

const isUrl = (store: string) => /^postgres(ql)?:\/\//.test(store)

/** A kind of store, or the URL of a server of PostgreSQL. */
export function storeChoice(given: string, kinds: readonly StoreKind[] = storeKinds): string {
  if (!isUrl(given)) return oneOf(given, kinds)
  const url = URL.parse(given)
  // The gym names a schema for each run.
  if (url === null || url.pathname.length < 2 || url.searchParams.has('schema'))
    throw new InvalidArgumentError(
      'A server is postgres://USER:PASSWORD@HOST:PORT/DATABASE, without a schema',
    )
  return given
}

/** Where a store that was given by `storeChoice` is opened. */
export function storeOf(store: string, env: NodeJS.ProcessEnv): Pick<RunOptions, 'store' | 'server'> {
  if (isUrl(store)) return { store: 'postgres', server: store }
  const server = store === 'postgres' ? env['KU0_TEST_POSTGRES_URL'] : undefined
  return { store: store as StoreKind, server }
}

/** A flag that may be repeated: all that it was given. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}

/** A number of the command line within its bounds. */
export function number(what: string, low: number, high: number, whole = false): (given: string) => number {
  return (given) => {
    const value = Number(given)
    const fits = given.trim() !== '' && value >= low && value <= high && (!whole || Number.isInteger(value))
    if (!fits)
      throw new InvalidArgumentError(`${what} is a ${whole ? 'whole ' : ''}number from ${low} to ${high}`)
    return value
  }
}
